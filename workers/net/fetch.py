"""The walk of a fetch: judge, pin, exchange, and again for each redirect, every hop written down."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import monotonic

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import (
    HttpError,
    OutriderError,
    RateLimited,
    RedirectBlocked,
    RedirectLimit,
    RedirectLoop,
    Refused,
    SourceUnavailable,
)
from schemas.limits import Limits
from schemas.pin import Lookup
from schemas.receipt import Hop, Journal
from schemas.reply import Ask, Reply
from workers.net.judge import judge_place
from workers.net.receive import REDIRECTS
from workers.net.redirect import judge_step, next_ask, next_place
from workers.net.resolve import Resolver
from workers.net.trace import Trace
from workers.net.transport import Transport

Facts = dict[str, str | int]
Progress = Callable[[str, Facts], None]

_PROGRESS_SECONDS = 0.1
_UNAVAILABLE = (502, 503, 504)
_WAIT_DIGITS, _WAIT_SECONDS_MAX = 9, 86_400  # a longer wait says "another day" just as well


def _silent(_step: str, _facts: Facts) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """The outside world of a fetch, made once per process: who looks names up, who makes exchanges."""

    resolver: Resolver
    transport: Transport


def road(*, nameservers: tuple[str, ...] = (), nameserver_port: int = 53, ca_file: Path | None = None) -> Road:
    """The road of this process. Raises: Internal without a readable CA file."""
    return Road(resolver=Resolver(nameservers, nameserver_port), transport=Transport(ca_file=ca_file))


def fetch(  # noqa: PLR0913, PLR0917 - the nouns of one walk, each passed on unchanged
    start: Destination,
    ask: Ask,
    limits: Limits,
    road: Road,
    deadline: Deadline,
    journal: Journal,
    progress: Progress = _silent,
) -> Reply:
    """The answer at the end of the redirects. Every hop is in `journal` before its outcome is returned or raised.

    Shape: `progress` hears "resolving", "connecting", "receiving" with the host's name and, for the last, the bytes.
    Raises: Refused, Failed, Internal.
    """
    walk = _Walk(limits=limits, road=road, deadline=deadline, journal=journal, progress=progress, visited={start.href})
    return walk.go(start, ask)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    limits: Limits
    road: Road
    deadline: Deadline
    journal: Journal
    progress: Progress
    visited: set[str]

    def go(self, place: Destination, ask: Ask) -> Reply:
        came_from = None
        came_by: list[str] = []
        for number in range(1, self.limits.redirects_max + 2):
            hop = _HopDraft(number=number, came_from=came_from, place=place, ask=ask)
            reply, onward = self._hop(hop)
            if onward is None:
                return replace(reply, came_by=tuple(came_by))
            came_by.append(place.href)
            ask = next_ask(ask, reply, onward)
            came_from, place = place, onward
        raise AssertionError  # pragma: no cover - the last hop's redirect is refused inside it

    def _hop(self, hop: "_HopDraft") -> tuple[Reply, Destination | None]:
        """One hop, with where it leads. What the guard refuses after a redirect is the redirect's refusal."""
        try:
            reply = replace(self._exchange(hop), redirects=hop.number - 1)
            return reply, self._onward(reply)
        except OutriderError as error:
            hop.code = error.code
            if isinstance(error, Refused) and hop.number > 1 and not isinstance(error, RedirectBlocked):
                message = "The redirect leads to a place that may not be fetched."
                raise RedirectBlocked(message, reason=error.code) from error
            raise
        finally:
            self.journal.write(hop.written())

    def _exchange(self, hop: "_HopDraft") -> Reply:
        host = hop.place.host
        judge_place(hop.place, self.limits)
        if hop.came_from:
            judge_step(hop.came_from, hop.place, self.limits)
        self.deadline.check("resolving")
        self.progress("resolving", {"host": host})
        asked_at = monotonic()
        try:
            pin = self.road.resolver.pin(hop.place, self.limits, self.deadline, hop.lookup)
        finally:
            hop.milliseconds["dns"] = (monotonic() - asked_at) * 1000
        self.progress("connecting", {"host": host})
        started_at = monotonic()
        try:
            return self.road.transport.exchange(
                hop.place,
                pin,
                hop.ask,
                limits=self.limits,
                deadline=self.deadline,
                trace=hop.trace,
                on_bytes=_paced(self.progress, host),
            )
        finally:
            hop.milliseconds["exchange"] = (monotonic() - started_at) * 1000

    def _onward(self, reply: Reply) -> Destination | None:
        if reply.status not in REDIRECTS:
            if self.limits.non_2xx == "failed" and reply.status // 100 != 2:
                raise _status_error(reply)
            return None
        place = next_place(reply)
        if reply.redirects < self.limits.redirects_max:
            self.visited.add(place.href)
            return place
        # A revisit is not stopped before the limit: some sites answer the same URL differently the second time.
        if len(self.visited) <= reply.redirects or place.href in self.visited:
            raise RedirectLoop("The site redirects in a circle.", redirects=reply.redirects + 1)
        raise RedirectLimit("The site redirects more often than is followed.", limit=self.limits.redirects_max)


def _paced(progress: Progress, host: str) -> Callable[[int], None]:
    """Tells the bytes so far, at most every tenth of a second."""
    told_at = 0.0

    def tell(count: int) -> None:
        nonlocal told_at
        now = monotonic()
        if now - told_at >= _PROGRESS_SECONDS:
            told_at = now
            progress("receiving", {"host": host, "bytes": count})

    return tell


def _status_error(reply: Reply) -> OutriderError:
    host, status = reply.place.host, reply.status
    waits = reply.values("retry-after")
    if status == 429 or (status == 503 and waits):
        wait_seconds = _wait_seconds(waits[0]) if waits else None
        return RateLimited("The site asks for fewer requests.", host=host, status=status, wait_seconds=wait_seconds)
    if status in _UNAVAILABLE:
        return SourceUnavailable("The site is not available.", host=host, status=status)
    return HttpError(f"The site answered with status {status}.", host=host, status=status)


def _wait_seconds(value: str) -> int | None:
    """The delay that a Retry-After asks for, where it can be read. Source: RFC 9110 section 10.2.3."""
    if value.isascii() and value.isdigit():
        return min(int(value[:_WAIT_DIGITS]), _WAIT_SECONDS_MAX)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(0, round((until - datetime.now(UTC)).total_seconds())), _WAIT_SECONDS_MAX)


class _HopDraft:
    """A hop on its way to the journal."""

    __slots__ = ("ask", "came_from", "code", "lookup", "milliseconds", "number", "place", "started_at", "trace")

    def __init__(self, *, number: int, came_from: Destination | None, place: Destination, ask: Ask) -> None:
        self.number = number
        self.came_from = came_from
        self.place = place
        self.ask = ask
        self.started_at = datetime.now(UTC)
        self.lookup = Lookup()
        self.trace = Trace()
        self.milliseconds: dict[str, float] = {}
        self.code: str | None = None

    def written(self) -> Hop:
        trace, times = self.trace, {**self.milliseconds, **self.trace.milliseconds}
        return Hop(
            number=self.number,
            method=self.ask.method,
            origin=self.place.origin(),
            url_sha256=self.place.href_sha256(),
            url=self.place.href,
            started_at=self.started_at.isoformat(timespec="milliseconds"),
            dns=dict(self.lookup.dns),
            addresses=tuple(self.lookup.addresses),
            verdicts=dict(self.lookup.verdicts),
            peer=trace.peer,
            sent=trace.sent,
            status=trace.status,
            http_version=trace.http_version,
            content_type=trace.content_type,
            header_bytes=trace.header_bytes,
            wire_bytes=trace.wire_bytes,
            decoded_bytes=trace.decoded_bytes,
            body=trace.body,
            body_sha256=trace.body_sha256,
            milliseconds={name: round(value, 1) for name, value in times.items()},
            code=self.code,
        )
