"""Attempts: the holder of a lease rides out once and settles what it found."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel

from broker.ledger.operations import settle
from broker.logs import where
from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.document import Document
from schemas.envelope import Envelope, ErrorOut, Outcome, receipt_out, replay
from schemas.errors import Broken, Cancelled, Internal, OutcomeUnknown, OutriderError, SettingsChanged
from schemas.operation import Ending, Lease, OperationState, Request, Stored
from schemas.receipt import Journal, Sent, canonical, digest_of, hop_fields
from schemas.reply import Ask, Reply
from schemas.tool import Tool
from workers.bench import PLAIN_GET, Bench, Progress
from workers.cancel import cancellable
from workers.extract.version import extractor
from workers.hands import Hands
from workers.net.fetch import fetch
from workers.rides import riding

# What is kept of a lease for settling: the ride ends before its lease does.
SETTLE_SECONDS = 3

T = TypeVar("T")

_log = structlog.get_logger(__name__)

_OUTCOMES: dict[OperationState, Outcome] = {
    OperationState.COMPLETED: "completed",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "cancelled",
    OperationState.OUTCOME_UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One admitted call. `started` is the monotonic instant before admission; `perform` is the handler, bound."""

    tool: Tool
    request: Request
    lease: Lease
    started: float
    perform: Callable[[Bench], BaseModel]


@dataclass(frozen=True, slots=True)
class Found:
    """What the ride brought back: a value or an error, never both."""

    value: dict[str, Any] | None
    error: OutriderError | None

    def state(self) -> OperationState:
        """The terminal state that this means."""
        if self.error is None:
            return OperationState.COMPLETED
        return OperationState.CANCELLED if isinstance(self.error, Cancelled) else OperationState.FAILED


def carry_out(attempt: Attempt, hands: Hands, progress: Progress) -> Envelope:
    """Ride out once and settle. The envelope says what the ledger keeps, also where somebody settled before us."""
    journal = Journal()
    pages: list[Document] = []
    with cancellable(attempt.request.task_id) as cancelled:
        deadline = _deadline(attempt, cancelled.is_set)
        bench = _bench(attempt, hands, deadline, journal, pages, progress)
        with riding(attempt.lease.operation_id, attempt.started + attempt.lease.seconds_left):
            found = _try(attempt, bench)
    return _settle(attempt, hands, found, journal, pages)


def _deadline(attempt: Attempt, cancelled: Callable[[], bool]) -> Deadline:
    seconds = min(attempt.tool.profile.limits.deadline_seconds, attempt.lease.seconds_left - SETTLE_SECONDS)
    return Deadline(at=attempt.started + seconds, cancelled=cancelled)


def _bench(
    attempt: Attempt, hands: Hands, deadline: Deadline, journal: Journal, pages: list[Document], progress: Progress
) -> Bench:
    limits = attempt.tool.profile.limits

    def ride(place: Destination, ask: Ask = PLAIN_GET) -> Reply:
        if ask.method not in limits.methods:
            raise Internal("The tool's profile does not use this method.", method=ask.method)
        return fetch(place, ask, limits, hands.road, deadline, journal, progress)

    def read(reply: Reply) -> Document:
        progress("extracting", {"bytes": len(reply.body)})
        with _timed(journal.extractions):
            page = hands.extraction.extract(
                reply.body, content_type=reply.content_type, base_url=reply.place.href, limits=limits, deadline=deadline
            )
        pages.append(page)
        return page

    def apart(reader: Callable[[bytes, str], T], reply: Reply) -> T:
        progress("extracting", {"bytes": len(reply.body)})
        with _timed(journal.extractions):
            return hands.extraction.run(reader, (reply.body, reply.content_type), deadline)

    return Bench(
        limits=limits,
        deadline=deadline,
        budget=attempt.lease.budget,
        ride=ride,
        read=read,
        apart=apart,
        now=lambda: datetime.now(UTC),
        progress=progress,
    )


@contextmanager
def _timed(extractions: list[float]) -> Iterator[None]:
    """Write down how long the block takes, also when it raises."""
    began = monotonic()
    try:
        yield
    finally:
        extractions.append((monotonic() - began) * 1000)


def _try(attempt: Attempt, bench: Bench) -> Found:
    try:
        value = attempt.perform(bench).model_dump(mode="json")
        # What is kept is given in the very form that every repeat will be given (M64).
        return Found(json.loads(canonical(value)) if attempt.tool.profile.text_kept else value, None)
    except OutriderError as error:
        return Found(None, error)
    except Exception as error:  # noqa: BLE001 - a bug of ours settles as internal, its text stays here
        return Found(None, _fault(attempt, error))


def _fault(attempt: Attempt, error: Exception) -> Internal:
    kind = type(error).__name__
    _log.error("attempt_broke", operation=attempt.lease.operation_id, exception=kind, at=where(error.__traceback__))
    return Internal("A fault of ours; the worker's log names the place.", kind=kind)


def _settle(attempt: Attempt, hands: Hands, found: Found, journal: Journal, pages: list[Document]) -> Envelope:
    try:
        found, ending = _told(attempt, found, journal, pages)
        try:
            stored = settle(hands.ledger, attempt.lease, ending)
        except SettingsChanged as error:
            found, ending = _told(attempt, Found(None, error), journal, pages)
            stored = settle(hands.ledger, attempt.lease, ending)
    except Broken:
        return _unsettled(attempt)
    if stored.digest != ending.digest:
        return replay(attempt.tool.name, stored)  # somebody looked after our lease was over: theirs is the account
    return _envelope(attempt, found, stored)


def _told(attempt: Attempt, found: Found, journal: Journal, pages: list[Document]) -> tuple[Found, Ending]:
    """What is settled: the account, or, where it cannot be written down, that we broke and whether a request left."""
    sent = journal.sent()
    try:
        hops = [hop_fields(hop, with_url=attempt.tool.profile.text_kept) for hop in journal.hops]
        return found, _ending(attempt, found, sent, hops, pages, journal.extractions)
    except Exception as error:  # noqa: BLE001 - an admitted call must end, whatever its account held
        broken = Found(None, _fault(attempt, error))
        return broken, _ending(attempt, broken, sent, [], [], [])


def _ending(
    attempt: Attempt,
    found: Found,
    sent: Sent,
    hops: list[dict[str, Any]],
    pages: list[Document],
    extractions: list[float],
) -> Ending:
    error = None if found.error is None else ErrorOut.of(found.error)
    request, lease = attempt.request, attempt.lease
    body = canonical(
        _kept(attempt, found, hops)
        | {
            "admitted_at": lease.admitted_at.astimezone(UTC).isoformat(timespec="milliseconds"),
            "agent": request.context.agent,
            "arguments_sha256": request.arguments_digest,
            "call": request.key,
            "document": [_page_fields(page) for page in pages],
            "error": None if error is None else error.model_dump(include={"code", "message", "facts"}),
            "extractions": [{"milliseconds": round(one, 1)} for one in extractions],
            "extractor": extractor(),
            "hops": hops,
            "milliseconds": round((monotonic() - attempt.started) * 1000, 3),
            "operation": lease.operation_id,
            "project": request.context.project,
            "receipt": "outrider/1",
            "run": request.context.run,
            "sent": sent.value,
            "state": found.state().value,
            "step": request.context.step,
            "tool": attempt.tool.name,
        }
    )
    return Ending(
        state=found.state(),
        code=None if error is None else error.code,
        sent=sent.value,
        body=body,
        digest=digest_of(body),
    )


def _kept(attempt: Attempt, found: Found, hops: list[dict[str, Any]]) -> dict[str, Any]:
    """What a receipt holds besides where the tool's text is kept: the very value, and whether any byte left."""
    if not attempt.tool.profile.text_kept:
        return {}
    # A question to a nameserver leaves, and so does the greeting to a peer that is then not trusted (M67).
    left = any("peer" in hop or {"A", "AAAA"} & hop.get("dns", {}).keys() for hop in hops)
    value = {} if found.value is None else {"value": found.value}
    return {"external_egress": left, **value}


def _page_fields(page: Document) -> dict[str, Any]:
    return {
        "charset": page.charset,
        "characters": len(page.text),
        "kind": page.kind,
        "notes": list(page.notes),
        "source_truncated": page.source_truncated,
        "text_sha256": page.text_sha256(),
    }


def _envelope(attempt: Attempt, found: Found, stored: Stored) -> Envelope:
    return Envelope(
        outcome=_OUTCOMES[found.state()],
        tool=attempt.tool.name,
        operation=stored.operation_id,
        value=found.value,
        error=None if found.error is None else ErrorOut.of(found.error),
        receipt=receipt_out(stored),
    )


def _unsettled(attempt: Attempt) -> Envelope:
    """The ledger did not take the account: it will say outcome_unknown when the lease is over, and so do we."""
    error = OutcomeUnknown("The ledger could not settle this call.")
    return Envelope(
        outcome="unknown", tool=attempt.tool.name, operation=attempt.lease.operation_id, error=ErrorOut.of(error)
    )
