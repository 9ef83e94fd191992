"""The keeper: a thread beside the pool that sees the worker out, and replaces one that has lost a thread.

Asked to leave (SIGTERM, SIGINT, remote control), the worker takes nothing new, finishes what it has begun and ends.
Asked twice, or by SIGQUIT, it leaves at once: what was not admitted is given back, what was is the ledger's to end, as
unknown. Nothing here decides about a call: at most one request is the ledger's law, however this process goes.

Celery's own ways are not enough with a pool of threads, which it can neither stop nor leave behind: its warm shutdown
is deaf until the last thread is back, its cold one fails (celery#10490), and Python waits for the threads once more.
"""

import multiprocessing
import os
import signal
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Any

import structlog
from celery import platforms, signals
from celery.bootsteps import StartStopStep
from celery.worker import state

from broker.app import app
from workers import door
from workers.rides import LOOK_SECONDS, Lookout

# The exit status that tells a process manager: 0 was asked to leave and stays away, any other is started anew.
EXIT_ASKED = 0
EXIT_REPLACE = 75  # EX_TEMPFAIL of sysexits.h

DRAIN_LOOK_SECONDS = 0.05
GONE_SECONDS = 5.0  # how long giving back may take; then the process goes without

_log = structlog.get_logger(__name__)


class Keeper(StartStopStep):
    """The worker's step that starts the keeper. It comes after Celery has set its own handlers of signals."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._watch = Watch(worker)

    def include_if(self, worker: Any) -> bool:
        """In every worker."""
        del worker
        return True

    def start(self, worker: Any) -> None:
        """Listen to the signals, and begin to watch."""
        del worker
        for name in ("SIGTERM", "SIGINT", "SIGQUIT"):
            platforms.signals[name] = self._watch.on_signal
        Thread(target=self._watch.run, name="keeper", daemon=True).start()


app.steps["worker"].add(Keeper)


class Watch:
    """What the keeper knows. Signals come in the main thread, `run` is the keeper's own."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._signal_count = 0
        self._hurried = False
        self._lookout = Lookout(monotonic)

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """The first one asks, the second one hurries; SIGQUIT hurries at once."""
        self._signal_count += 1
        if self._signal_count > 1 or number == signal.SIGQUIT:
            self._hurried = True
            self._end_at_once(EXIT_ASKED)
        signals.worker_shutting_down.send(
            sender=self._worker.hostname, sig=signal.Signals(number).name, how="Warm", exitcode=EXIT_ASKED
        )
        door.close("asked")

    def run(self) -> None:
        """Watch until the door is closed, then see everybody out and end the process."""
        while door.why_closed() is None:
            door.wait(LOOK_SECONDS)
            for ride in self._lookout.stuck():
                _log.error("thread_stuck", operation=ride.operation_id)
                door.close("stuck")
        _log.warning("door_closed", why=door.why_closed(), running=len(state.reserved_requests))
        consumer = self._worker.consumer
        consumer.call_soon(consumer.stop_taking)
        self._see_out()
        self._end()

    def _see_out(self) -> None:
        """Return when only the stuck are left, at a hurry, or when the longest lease is over."""
        until = monotonic() + app.conf.worker_soft_shutdown_timeout
        while not self._hurried and monotonic() < until:
            if len(state.reserved_requests) <= len(self._lookout.stuck()):
                return
            door.wait(DRAIN_LOOK_SECONDS)

    def _end(self) -> None:
        code = EXIT_ASKED if door.why_closed() == "asked" else EXIT_REPLACE
        if self._hurried or len(state.reserved_requests):
            _log.warning("left_to_the_ledger", running=len(state.active_requests))
            self._end_at_once(code)
        else:
            _log.info("drained")
            state.should_stop = code  # type: ignore[assignment,unused-ignore]
        self._outwait(2 * GONE_SECONDS)
        vanish(code)

    def _end_at_once(self, code: int) -> None:
        """Make Celery give up its connection, which gives back what is unacknowledged, and leave."""
        consumer = getattr(self._worker, "consumer", None)
        if consumer is not None:
            consumer.leave_at_once = lambda: vanish(code)
        state.should_terminate = code  # type: ignore[assignment,unused-ignore]

    def _outwait(self, seconds: float) -> None:
        """Until the main thread has ended the process, or has not within so long; a hurry makes it half as long."""
        until = monotonic() + seconds
        while monotonic() < (until - GONE_SECONDS if self._hurried else until):
            door.wait(DRAIN_LOOK_SECONDS)


def vanish(code: int) -> None:
    """End this process now, threads, extraction processes and all. What it leaves open is the ledger's to close."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(code)
