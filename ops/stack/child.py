"""A child: one started part of the stack, and how it is stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ops.stack.faults import PartFailed

LAUNCHER = Path(__file__).with_name("launch.py")
# Where our packages lie: `python -m` finds them from there, installed or not.
HOUSE = Path(__file__).parents[2]
# A log that has grown past this is set aside when its child starts; one older copy is kept.
LOG_BYTES = 5_000_000

Escalation = tuple[tuple[signal.Signals, float], ...]
TERMINATE: Escalation = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How one part is run: the table of the stack is made of these.

    Shape: `stops` is tried from left to right, each signal with the seconds it is given; `death_signal` is what the
    kernel sends when the supervisor is gone without a word; `user_id` 0 keeps the supervisor's user. `is_ready` is
    asked until it says yes. `tier`: higher tiers are stopped first. `may_leave`: one that ends with status 0 was asked
    to, and stays away.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    log: Path
    tier: int
    environment: Mapping[str, str] = field(default_factory=dict)
    stops: Escalation = TERMINATE
    hurried_stops: Escalation = TERMINATE
    death_signal: signal.Signals = signal.SIGKILL
    user_id: int = 0
    is_ready: Callable[[], bool] = lambda: True
    may_leave: bool = False


@dataclass(slots=True)
class Child:
    """A running part. Unit: `since` is time.monotonic()."""

    part: Part
    process: subprocess.Popen[bytes]
    since: float

    @property
    def pid(self) -> int:
        """The process id; the process leads a group of the same id."""
        return self.process.pid

    def ended(self) -> int | None:
        """The exit status, once it has one."""
        return self.process.poll()

    def tell(self, number: signal.Signals) -> None:
        """Signal the leader alone: each part knows how to stop what it started itself."""
        if self.ended() is None:
            self.process.send_signal(number)

    def sweep(self) -> None:
        """Kill what the ended leader left of its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def start(part: Part) -> Child:
    """Run the part in a session of its own, its words going to its log.

    Raises: PartFailed. The death signal is bound to the calling thread: call from one that lives as long as the stack.
    """
    _set_aside(part.log)
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(int(part.death_signal))]
    handle = os.open(part.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            [*argv, str(part.user_id), "--", *part.argv],
            cwd=part.folder,
            env=os.environ | dict(part.environment),  # handed on, not read: settings are broker.settings' business
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    except OSError as error:
        raise PartFailed(part.name, f"{error.strerror}: {error.filename}", part.log) from error
    finally:
        os.close(handle)
    return Child(part, process, time.monotonic())


def _set_aside(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


def stop(children: list[Child], hurry: Callable[[], bool]) -> list[Child]:
    """Stop these together; gives those that had to be killed. `hurry` is asked all along and cuts waiting short."""
    began, hurried = time.monotonic(), False
    told: dict[int, signal.Signals] = {}
    while living := [child for child in children if child.ended() is None]:
        if not hurried and hurry():
            began, hurried = time.monotonic(), True
        for child in living:
            due = _due(child.part.hurried_stops if hurried else child.part.stops, time.monotonic() - began)
            if told.get(child.pid) is not due:
                told[child.pid] = due
                child.tell(due)
        time.sleep(0.02)
    for child in children:
        child.sweep()
    return [child for child in children if told.get(child.pid) is signal.SIGKILL]


def _due(stops: Escalation, waited: float) -> signal.Signals:
    """Which signal of the escalation it is time for."""
    for number, seconds in stops:
        if waited < seconds:
            return number
        waited -= seconds
    return stops[-1][0]
