"""The throttle: log-in attempts of one address, slowed more with every one that fails."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

FREE_TRIES = 5  # a person who pastes the wrong thing
LONGEST_PAUSE_SECONDS = 60.0
ADDRESSES_MAX = 4096  # the memory is bounded: who attacks from more addresses still guesses at 32 random bytes


class Throttle:
    """How long each address has to wait before its next attempt. Unit: seconds of the given monotonic clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tries: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def begin(self, address: str) -> float:
        """0 when the attempt may be made, else how long to wait. It counts as failed until `forget` says otherwise.

        Counting first keeps a burst of attempts at once from passing as one.
        """
        with self._lock:
            now = self._clock()
            tries, open_at = self._tries.get(address, (0, now))
            if now < open_at:
                return open_at - now
            pause = 0.0 if tries + 1 < FREE_TRIES else min(LONGEST_PAUSE_SECONDS, 2.0 ** (tries + 1 - FREE_TRIES))
            self._tries[address] = (tries + 1, now + pause)
            self._tries.move_to_end(address)
            if len(self._tries) > ADDRESSES_MAX:
                self._tries.popitem(last=False)
            return 0.0

    def forget(self, address: str) -> None:
        """The attempt succeeded: the address begins anew."""
        with self._lock:
            self._tries.pop(address, None)
