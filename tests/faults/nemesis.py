"""The nemesis: blows drawn from a seed, one at a time, against the worker of a lane and the stores under it."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Timer

import psutil

from tests.faults.causes import Run, runs
from tests.faults.lanes import Lane
from tests.faults.launching import Blow
from tests.faults.stores import Stores
from tests.faults.sweeping import SOON_SECONDS
from tests.faults.terms import LEASE_SECONDS
from tests.fleet import wait_until


@dataclass(frozen=True, slots=True)
class Struck:
    """One blow that fell: its name, and from when to when by the wall clock it may have been felt."""

    name: str
    at: float
    until: float


class Nemesis:
    """Draws a blow each time it is asked; about one in six is none at all.

    Shape: `struck` are the blows that fell, `lives` what each worker did in its life, oldest first.
    """

    def __init__(self, stores: Stores, lane: Lane, seed: int) -> None:
        self._stores, self._lane = stores, lane
        self._draw = random.Random(seed)
        self._frozen: list[Timer] = []
        self.struck: list[Struck] = []
        self.lives: list[Run] = []

    def strike(self) -> None:
        """One blow, or none. A worker that is gone is followed by another."""
        self._staff()
        blows: dict[str, Callable[[], None]] = {
            "nothing": lambda: None,
            "more nothing": lambda: None,
            "worker killed": lambda: os.kill(self._lane.launcher.pid, signal.SIGKILL),
            "worker frozen": lambda: self._freeze([psutil.Process(self._lane.launcher.pid)]),
            "broker killed": lambda: self._kill("broker", signal.SIGKILL),
            "results killed": lambda: self._kill("results", signal.SIGKILL),
            "postgres crashed": lambda: self._kill("postgres", signal.SIGQUIT),
            "postgres stopped": lambda: self._kill("postgres", signal.SIGINT),
            "postgres silent": lambda: self._freeze(self._stores.freeze("postgres")),
            "broker flushed": self._lane.flush,
        }
        name = self._draw.choice(sorted(blows))
        at = time.time()
        with suppress(psutil.Error, ProcessLookupError):
            blows[name]()
        wait_until(lambda: not any(one.is_alive() for one in self._frozen), seconds=60, what="the frozen are back")
        if not name.endswith("nothing"):
            self.struck.append(Struck(name, at, time.time()))

    def rest(self) -> None:
        """No more: all stores answer, and a worker is there."""
        for name in ("broker", "results", "postgres"):
            self._stores.pid(name)
        self._staff()

    def _staff(self) -> None:
        launcher = self._lane.launcher
        if launcher.running and launcher.ended() is None:
            return
        self.look_back()
        launcher.begin(Blow(), visibility_seconds=SOON_SECONDS)

    def look_back(self) -> None:
        """Learn what the last worker did, before the next one begins."""
        self.lives += runs(self._lane.launcher.steps)

    def _kill(self, name: str, number: int) -> None:
        os.kill(self._stores.pid(name), number)

    def _freeze(self, processes: list[psutil.Process]) -> None:
        """Stop these for a while: sometimes longer than a lease."""
        for process in processes:
            process.suspend()

        def thaw() -> None:
            for process in processes:
                with suppress(psutil.Error):
                    process.resume()

        timer = Timer(self._draw.uniform(0.1, LEASE_SECONDS + 3), thaw)
        self._frozen = [timer]
        timer.start()
