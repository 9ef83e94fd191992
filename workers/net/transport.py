"""The transport: one exchange with one pinned place, through libcurl with nothing ambient left on."""

from collections.abc import Callable
from pathlib import Path

import certifi

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import Failed, Internal, OutriderError
from schemas.limits import Limits
from schemas.pin import Pin
from schemas.reply import Ask, Reply
from workers.net.curl_lane import Lane
from workers.net.curl_options import Wish, agree, check
from workers.net.trace import Trace
from workers.net.transfer import Transfer

_ATTEMPTS_MAX = 4


def _ignore(_count: int) -> None:
    return None


class Transport:
    """Makes exchanges; shared by threads, made once per process. Raises: Internal without a readable CA file."""

    def __init__(self, *, ca_file: Path | None = None) -> None:
        self._ca_file = ca_file or Path(certifi.where())
        if not self._ca_file.is_file():
            raise Internal("The file of trusted certificate authorities is missing.", ca_file=str(self._ca_file))
        self._idle: list[Lane] = []  # append and pop are atomic: as many lanes as exchanges ever ran at once

    def exchange(  # noqa: PLR0913 - the nouns of one exchange
        self,
        place: Destination,
        pin: Pin,
        ask: Ask,
        *,
        limits: Limits,
        deadline: Deadline,
        trace: Trace,
        on_bytes: Callable[[int], None] = _ignore,
    ) -> Reply:
        """Send one request to the pinned addresses and give the whole answer.

        The next address is tried only while the request has not left. `trace` holds what was seen, also after a raise.
        Raises: InvalidUrl, InvalidArguments, Failed, Cancelled, Internal.
        """
        if (pin.host, pin.port) != (place.host, place.port) or not pin.addresses:
            raise Internal("The pin is not this destination's.")
        agree(place)
        check(ask)
        hop = deadline.sooner(limits.request_seconds)
        addresses = pin.addresses
        while True:
            wish = Wish(
                place=place,
                addresses=addresses,
                ask=ask,
                limits=limits,
                left_seconds=hop.check("connecting"),
                ca_file=self._ca_file,
            )
            transfer = Transfer(wish, hop, trace, on_bytes)
            try:
                return self._ride(transfer)
            except Failed:
                addresses = transfer.others()
                if not addresses or trace.attempts >= _ATTEMPTS_MAX:
                    raise

    def close(self) -> None:
        """Give the idle lanes back."""
        while self._idle:
            self._idle.pop().close()

    def _ride(self, transfer: Transfer) -> Reply:
        lane = self._lane()
        try:
            reply = transfer.carry(lane)
        except OutriderError:
            self._idle.append(lane)
            raise
        self._idle.append(lane)  # after anything else that was raised, the lane's state is unknown: it is dropped
        return reply

    def _lane(self) -> Lane:
        try:
            lane = self._idle.pop()
        except IndexError:
            return Lane()
        return lane if lane.usable() else Lane()
