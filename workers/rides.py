"""Rides: which attempts of this process are under way, and when the lease of each is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

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


def overdue(now: float) -> frozenset[Ride]:
    """The rides that are not back although their lease is over: each should have ended seconds before."""
    with _lock:
        return frozenset(ride for ride in _under_way if ride.until < now)
