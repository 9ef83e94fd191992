"""Commands of ours as processes, for the tests of the stack and the command line."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import psutil

HOUSE = Path(__file__).resolve().parents[2]
NOBODY = 65_534
SECONDS = 40.0


def wait_until(holds: Callable[[], object], what: str, seconds: float = SECONDS) -> None:
    """Return when it holds. Raises: AssertionError after the deadline."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Command:
    """A running command and the lines that it says."""

    def __init__(self, words: tuple[str, ...], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            words,
            cwd=HOUSE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._arriving: Queue[str | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self.process.stdout as pipe:
            for line in pipe:
                self._arriving.put(line.rstrip("\n"))
        self._arriving.put(None)

    def wait_for(self, words: str, seconds: float = SECONDS) -> str:
        """The first new line that holds these words."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self._arriving.get(timeout=max(0.01, until - time.monotonic()))
            except Empty:
                line = None
            assert line is not None, f"never said {words!r}: {self.lines}"
            self.lines.append(line)
            if words in line:
                return line

    def end(self, number: signal.Signals = signal.SIGINT, seconds: float = SECONDS) -> int:
        """Signal it, and give its exit status."""
        self.process.send_signal(number)
        status = self.process.wait(timeout=seconds)
        self._reader.join()
        while not self._arriving.empty():
            if (line := self._arriving.get()) is not None:
                self.lines.append(line)
        return status


@contextmanager
def command(*words: str, home: Path, prefix: tuple[str, ...] = (), **more: str) -> Iterator[Command]:
    """`python -m WORDS` in this home, killed at the end of the block if it still runs."""
    running = Command((*prefix, sys.executable, "-m", *words), environment(home) | more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGKILL)


def outrider(*words: str, home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """The ended `outrider WORDS`."""
    return subprocess.run(
        (sys.executable, "-m", "ops", *words),
        cwd=HOUSE,
        env=environment(home) | more,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def environment(home: Path) -> dict[str, str]:
    """Our own environment, this home, and a DNS server on loopback that is not there: nothing leaves this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
    return kept | {"OUTRIDER_HOME": str(home), "OUTRIDER_NAMESERVERS": "127.0.0.1", "PYTHONUNBUFFERED": "1"}


def of_home(home: Path) -> list[psutil.Process]:
    """The processes that run for this home: they work in it, or carry its mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(f"{home}/") or process.environ().get("OUTRIDER_STACK") == str(home):
                found.append(process)
        except psutil.Error:
            continue
    return found


def as_nobody() -> tuple[str, ...] | None:
    """A prefix that runs a command as an ordinary user who reaches our interpreter; None where there is no way.

    Where the interpreter lies under a folder of root's, the user sees it in a mount namespace of its own.
    """
    if os.geteuid() != 0:
        return ()
    if not shutil.which("setpriv") or not shutil.which("unshare"):
        return None
    group = str(pwd.getpwuid(NOBODY).pw_gid)
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups")
    if _reaches(user):
        return user
    top = Path("/", Path(sys.base_prefix).parts[1])
    script = (
        f"set -e; held=$(mktemp -d); mount --bind {sys.base_prefix} $held; mount -t tmpfs -o mode=755 none {top}; "
        f'mkdir -p {sys.base_prefix}; mount --bind $held {sys.base_prefix}; exec "$@"'
    )
    prefix = ("unshare", "--mount", "sh", "-c", script, "sh", *user)
    return prefix if _reaches(prefix) else None


def _reaches(prefix: tuple[str, ...]) -> bool:
    """Whether this very interpreter runs behind the prefix."""
    words = (*prefix, sys.executable, "-c", "import sys; print(sys.base_prefix)")
    seen = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=False)
    return seen.stdout.strip() == sys.base_prefix
