"""The one clock that every step of a call charges: DNS, TLS, body, decoding, extraction."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from schemas.errors import Cancelled, RequestTimeout


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The instant at which a call must have ended, and the way to learn that its caller took it back.

    Unit: `at` is an instant of `clock` (monotonic seconds). It is made once per call and passed down, never re-made.
    """

    at: float
    clock: Callable[[], float] = monotonic
    cancelled: Callable[[], bool] = _never

    @classmethod
    def after(
        cls, seconds: float, *, clock: Callable[[], float] = monotonic, cancelled: Callable[[], bool] = _never
    ) -> "Deadline":
        """A deadline that many seconds from now."""
        return cls(at=clock() + seconds, clock=clock, cancelled=cancelled)

    def left_seconds(self) -> float:
        """What is left, never below zero."""
        return max(0.0, self.at - self.clock())

    def check(self, doing: str) -> float:
        """The seconds left. Raises: Cancelled when the caller took the call back, RequestTimeout when none are left."""
        if self.cancelled():
            raise Cancelled("The call was cancelled by its caller.", doing=doing)
        left = self.left_seconds()
        if left <= 0:
            raise RequestTimeout("The deadline passed.", doing=doing)
        return left

    def sooner(self, seconds: float) -> "Deadline":
        """This deadline, or that many seconds from now, whichever comes first; cancellation is shared."""
        return Deadline(at=min(self.at, self.clock() + seconds), clock=self.clock, cancelled=self.cancelled)
