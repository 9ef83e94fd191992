"""Load: a queue filled while the worker is stopped, then emptied by it at full speed, and what that took.

Nobody but the worker does anything while the clock runs: the messages were sent before, their replies are read after.
Rates are taken between a sixth and nine tenths of the queue, so that neither filling nor emptying the threads counts.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from broker.app import app
from broker.sealing import SealedCelery
from ops.bench.account import CLIENT, Memory
from ops.bench.stand import AGENT, PROJECTS, Stand

STEP_MAX, RUN_MAX = 40, 200  # web_fetch's reservations
BEGIN, END = 1 / 6, 9 / 10
LOOK_SECONDS = 0.01
QUIET_LOOKS = 3  # a message on its way from the queue to the worker is for a moment in neither
REPLY_KEY = "celery-task-meta-"

_batches = count()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of load. Shape: `urls` are fetched in turn; without any the task is a no-op."""

    name: str
    task: str
    queue: str
    urls: tuple[str, ...] = ()
    replies: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a batch took. Unit: `cpu_micros` is CPU per operation of each part while the clock ran."""

    rate: float
    cpu_micros: dict[str, float]
    outcomes: dict[str, int]
    ledger: dict[str, int]
    peak: Memory


class StandStalled(RuntimeError):
    """The worker did not empty its queue in time."""


def batch(stand: Stand, kind: Kind, size: int, *, seconds: float = 60.0) -> Measured:
    """Measure one batch of `size` operations. Raises: StandStalled."""
    crew = _Crew()
    crew.results.flushdb()
    before = stand.ended()
    worker = stand.accounts.worker
    worker.suspend()
    try:
        sent_cpu, ids = _publish(crew, kind, size)
    finally:
        worker.resume()
    clock = _Clock(stand, lambda: size - crew.waiting(kind.queue))
    clock.run(size, time.monotonic() + seconds)
    after = stand.ended()
    spent = {name: 1e6 * used / clock.operations for name, used in clock.cpu.items()} | {CLIENT: 1e6 * sent_cpu / size}
    return Measured(
        rate=clock.operations / clock.seconds,
        cpu_micros=spent,
        outcomes=crew.outcomes(ids) if kind.replies else {},
        ledger={state: after[state] - before.get(state, 0) for state in after if after[state] != before.get(state, 0)},
        peak=clock.peak,
    )


class _Crew:
    """The broker and the result store, as the bench speaks to them."""

    def __init__(self) -> None:
        # A sender without a result store: it hears no replies, so it costs the machine nothing while the clock runs.
        self.sender = SealedCelery("bench", config_source="broker.celeryconfig", set_as_current=False)
        self.sender.conf.update(result_backend="disabled")
        backend: Any = app.backend
        channel: Any = self.sender.connection_for_write().default_channel
        self.results: Any = backend.client
        self._broker: Any = channel.client

    def waiting(self, queue: str) -> int:
        """Messages that are not acknowledged yet."""
        pipe = self._broker.pipeline(transaction=True)
        return sum(pipe.llen(queue).hlen("unacked").execute())

    def outcomes(self, ids: list[str]) -> dict[str, int]:
        """How the calls ended: envelopes by outcome and error code, anything else by its Celery state."""
        found: Counter[str] = Counter()
        for begin in range(0, len(ids), 100):
            for raw in self.results.mget([REPLY_KEY + one for one in ids[begin : begin + 100]]):
                found[_outcome(raw)] += 1
        return dict(found)


def _outcome(raw: bytes | None) -> str:
    if raw is None:
        return "no reply"
    reply = json.loads(raw)
    value = reply["result"]
    if reply["status"] != "SUCCESS":
        return str(reply["status"])
    if value is None:
        return "completed"
    return value["outcome"] if value["error"] is None else f"{value['outcome']}: {value['error']['code']}"


def _publish(crew: _Crew, kind: Kind, size: int) -> tuple[float, list[str]]:
    """Send the messages; the CPU seconds that took, and the task ids."""
    ids = [uuid4().hex for _ in range(size)]
    calls = _calls(kind)
    began = time.process_time()
    with crew.sender.producer_pool.acquire(block=True) as producer:
        for one in ids:
            crew.sender.send_task(kind.task, kwargs=next(calls), task_id=one, queue=kind.queue, producer=producer)
    return time.process_time() - began, ids


def _calls(kind: Kind) -> Iterator[dict[str, Any]]:
    """The calls of one batch: projects in turn, a new step and a new run before the reservations are used up."""
    number = next(_batches)
    for turn in count():
        if not kind.urls:
            yield {}
            continue
        lap, place = divmod(turn, len(PROJECTS))
        context = {
            "project": PROJECTS[place],
            "agent": AGENT,
            "run": f"run-{number}-{lap // RUN_MAX}",
            "step": f"step-{number}-{lap // STEP_MAX}",
        }
        yield {"arguments": {"url": kind.urls[turn % len(kind.urls)]}, "context": context}


class _Clock:
    """Watches a queue being emptied."""

    def __init__(self, stand: Stand, done: Callable[[], int]) -> None:
        self._accounts = stand.accounts
        self._done = done
        self.peak = Memory(0, 0)
        self.seconds = self.operations = 0.0
        self.cpu: dict[str, float] = {}

    def run(self, size: int, until: float) -> None:
        """Return when all is done. Raises: StandStalled."""
        self._await(BEGIN * size, until)
        began, first, before = time.monotonic(), self._done(), self._accounts.cpu_seconds()
        self._await(END * size, until)
        ended, last, after = time.monotonic(), self._done(), self._accounts.cpu_seconds()
        self.seconds, self.operations = ended - began, last - first
        self.cpu = {name: after[name] - before[name] for name in after}
        for _ in range(QUIET_LOOKS):
            self._await(size, until)

    def _await(self, wanted: float, until: float) -> None:
        looks = 0
        while self._done() < wanted:
            if time.monotonic() > until:
                raise StandStalled(f"{self._done()} operations done, {wanted:.0f} wanted")
            if looks % 10 == 0:
                self._look()
            looks += 1
            time.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        now = self._accounts.memory()
        self.peak = Memory(max(self.peak.main, now.main), max(self.peak.children, now.children))
