"""Rides: which attempts of this process are under way, and which of them will not come back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

# How long after the end of its lease a ride may still be on its way back. It should have ended 3 s before that end.
GRACE_SECONDS = 5.0
LOOK_SECONDS = 1.0  # how often to look, at least

_under_way: set["Ride"] = set()
_lock = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Ride:
    """One attempt between admission and settling. Unit: `until` is time.monotonic(), the end of its lease."""

    operation_id: str
    until: float


@contextmanager
def riding(operation_id: str, until: float) -> Iterator[None]:
    """Tells that this thread rides, for as long as the block runs."""
    ride = Ride(operation_id, until)
    with _lock:
        _under_way.add(ride)
    try:
        yield
    finally:
        with _lock:
            _under_way.discard(ride)


class Lookout:
    """Whoever looks for the stuck: rides that are long past their lease.

    Measured in seconds in which somebody looked: a process that was frozen as a whole has lost no thread.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._awake_seconds = 0.0
        self._late: dict[Ride, float] = {}

    def stuck(self) -> tuple[Ride, ...]:
        """The stuck, as seen now."""
        now = self._clock()
        self._awake_seconds += min(now - self._looked_at, LOOK_SECONDS)
        self._looked_at = now
        with _lock:
            late = [ride for ride in _under_way if ride.until < now]
        self._late = {ride: self._late.get(ride, self._awake_seconds) for ride in late}
        return tuple(ride for ride, since in self._late.items() if self._awake_seconds - since >= GRACE_SECONDS)
