"""The nemesis: blows drawn from a seed, one at a time, against the worker of a lane and the stores under it."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil
from pytest_celery import CeleryTestNode

from tests.faults.causes import Run, runs
from tests.faults.lanes import Lane
from tests.faults.launching import Blow
from tests.faults.nodes import Nodes, paused, process_of
from tests.faults.terms import LEASE_SECONDS, SOON_SECONDS
from tests.fleet import pass_time


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

    def __init__(self, nodes: Nodes, lane: Lane, seed: int) -> None:
        self._nodes, self._lane = nodes, lane
        self._draw = random.Random(seed)
        self.struck: list[Struck] = []
        self.lives: list[Run] = []

    def strike(self) -> None:
        """One blow, or none. A worker that is gone is followed by another."""
        self._staff()
        nodes = self._nodes
        blows: dict[str, Callable[[], None]] = {
            "nothing": lambda: None,
            "more nothing": lambda: None,
            "worker killed": nodes.worker.kill,
            "worker frozen": lambda: self._freeze(nodes.worker),
            "broker killed": lambda: self._kill(nodes.broker),
            "results killed": lambda: self._kill(nodes.results),
            "postgres crashed": lambda: self._kill(nodes.postgres, "SIGQUIT"),
            "postgres stopped": lambda: self._kill(nodes.postgres, "SIGINT"),
            "postgres silent": lambda: self._freeze(nodes.postgres),
            "broker flushed": self._flush,
        }
        name = self._draw.choice(sorted(blows))
        at = time.time()
        with suppress(psutil.Error):
            blows[name]()
        if not name.endswith("nothing"):
            self.struck.append(Struck(name, at, time.time()))

    def rest(self) -> None:
        """No more: all stores answer, and a worker is there."""
        for node in (self._nodes.broker, self._nodes.results, self._nodes.postgres):
            process_of(node).start()
        self._staff()

    def _staff(self) -> None:
        worker = process_of(self._nodes.worker)
        if worker.runs():
            return
        self.look_back()
        self._lane.launcher.begin(Blow(), visibility_seconds=SOON_SECONDS)

    def look_back(self) -> None:
        """Learn what the last worker did, before the next one begins."""
        self.lives += runs(self._lane.launcher.steps)

    def _kill(self, node: CeleryTestNode, number: str = "SIGKILL") -> None:
        process_of(node).await_ready()
        node.kill(number)

    def _flush(self) -> None:
        process_of(self._nodes.broker).await_ready()
        self._lane.flush()

    def _freeze(self, node: CeleryTestNode) -> None:
        """Silence it for a while: sometimes for longer than a lease."""
        with paused(node):
            pass_time(self._draw.uniform(0.1, LEASE_SECONDS + 3))
