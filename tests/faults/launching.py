"""Launchers: a process that forks one worker after the other, each struck at a step of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from tests.faults.terms import SOON_SECONDS
from tests.fleet import HOUSE

WORDS = ("--loglevel", "INFO", "-P", "threads", "-c", "4", "-E", "--without-gossip", "--without-mingle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """What is struck, with which signal, at which step: nothing where `at` is None, the worker where `victim` is 0.

    Shape: `at` is a step's number, or its name, and then the first step of that name is meant.

    `drain`: the steps of the worker's warm shutdown are counted as well.
    """

    at: int | str | None = None
    victim: int = 0
    signal: int = signal.SIGKILL
    drain: bool = False


class Launcher:
    """One `crashing_worker` process, of the code that lies in `house`. Must be closed.

    Shape: `entrance` are the words of a command that goes somewhere and then becomes the command that follows it.
    """

    def __init__(
        self,
        name: str,
        environment: Mapping[str, str],
        folder: Path,
        house: Path = HOUSE,
        entrance: Sequence[str] = (),
    ) -> None:
        self.name, self.log, self._folder = name, folder / f"{name}.log", folder
        self._facts: dict[str, SimpleQueue[int]] = {"pid": SimpleQueue(), "ended": SimpleQueue()}
        self.pid, self.leaving, self.running = 0, False, False
        self.log.touch()
        self.visibility_seconds, self.log_begins = SOON_SECONDS, 0
        self._status: int | None = None
        self._process = subprocess.Popen(
            [*entrance, sys.executable, "-m", "tests.faults.crashing_worker"],
            cwd=house,
            env=os.environ | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._ear = Thread(target=self._listen, name=name)
        self._ear.start()

    def begin(self, blow: Blow, *, visibility_seconds: float) -> None:
        """Start a worker, which leaves its steps in `steps`, and its words in `log` from `log_begins` on."""
        self.steps.unlink(missing_ok=True)
        self.leaving, self.running, self._status = False, True, None
        self.visibility_seconds = visibility_seconds
        self.log_begins = self.log.stat().st_size
        wish = {
            **asdict(blow),
            "visibility": visibility_seconds,
            "steps": str(self.steps),
            "log": str(self.log),
            "history": str(self._folder / "history.jsonl"),
            "words": [*WORDS, "-Q", "fetch", "-n", f"{self.name}@%h", "--without-heartbeat"],
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wish) + "\n")
        self.pid = self._facts["pid"].get(timeout=30)

    @property
    def steps(self) -> Path:
        """Where the running worker writes its steps."""
        return self._folder / f"{self.name}.steps"

    def taken(self) -> list[str]:
        """The steps so far, as they are named."""
        if not self.steps.exists():
            return []
        return [line.split(" ", 3)[3] for line in self.steps.read_text().splitlines()]

    def met(self, at: int | str) -> bool:
        """Whether the running worker has come to that step."""
        steps = self.taken()
        return at in steps if isinstance(at, str) else at < len(steps)

    def ended(self) -> int | None:
        """The worker's exit status, when there is one."""
        with suppress(Empty):
            self._status = self._facts["ended"].get_nowait()
            self.running = False
        return self._status

    def leave(self, number: int = signal.SIGTERM) -> None:
        """Ask the worker, once, to finish what it has and go; or end it."""
        if self.leaving:
            return
        self.leaving = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def close(self) -> None:
        """End the launcher, with the worker it may have."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._ear.join()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                for name, value in json.loads(line).items():
                    self._facts[name].put(value)
