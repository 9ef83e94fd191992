"""The home: folders, sockets, locks, the seal key and the state file of one embedded stack.

One process at a time owns a home: it holds an exclusive lock on `owner.lock` for as long as it lives (the kernel lets
go of it even after a SIGKILL). Others that use the owner's stack hold a shared lock on `users.lock`, so that an owner
which only runs for one call does not leave while they wait for theirs.
"""

import fcntl
import json
import os
import re
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from broker.settings import SEAL_KEY_BYTES
from ops.stack import processes
from ops.stack.faults import HomeUnusable

# sun_path is 108 bytes on Linux and 104 on macOS, with the closing zero. Source: unix(7), sys/un.h.
SOCKET_PATH_BYTES = 103
SEAL_KEY = "seal.key"
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
# Outside these a path would need quoting in URLs, in libpq and in PostgreSQL's list of folders, each in its own way.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")

Phase = Literal["starting", "ready", "draining"]


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything of one stack lies."""

    root: Path
    sockets: Path

    @property
    def postgres(self) -> Path:
        """The data folder of PostgreSQL; it exists only complete."""
        return self.root / "postgres"

    @property
    def broker(self) -> Path:
        """The data folder of the broker: its append-only file."""
        return self.root / "broker"

    @property
    def results(self) -> Path:
        """The working folder of the result store, which writes nothing there."""
        return self.root / "results"

    @property
    def logs(self) -> Path:
        """One file a child."""
        return self.root / "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the owner tells others. Unit: `born` is the owner's start as psutil gives it, to tell a reused pid."""

    pid: int
    born: float
    phase: Phase
    database_url: str
    broker_url: str
    result_url: str
    flower_url: str | None = None
    metrics_url: str | None = None
    admin_url: str | None = None
    gateway_url: str | None = None
    serves: bool = False


def open_home(root: Path) -> Home:
    """The home at `root`, with its folders made, none of them open to other users. Raises: HomeUnusable."""
    root = root.expanduser().absolute()
    with usable(root):
        if (root / "PG_VERSION").exists():
            why = f"{root} is the data folder of a PostgreSQL"
            raise HomeUnusable(why, "Set OUTRIDER_HOME to a folder of its own.")
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        sockets = _socket_folder(root)
        home = Home(root=root, sockets=sockets)
        for folder in (sockets, home.broker, home.results, home.logs):
            folder.mkdir(mode=0o700, exist_ok=True)
    _insist_on_private(sockets)
    return home


@contextmanager
def usable(root: Path) -> Iterator[None]:
    """Work in the home: what the system refuses is told in our words. Raises: HomeUnusable."""
    try:
        yield
    except OSError as error:
        raise HomeUnusable.of(root, error) from error


def _socket_folder(root: Path) -> Path:
    """`run` in the home; for a long or unusual path, a folder of ours among the temporary files."""
    digest = sha256(os.fsencode(root)).hexdigest()[:12]
    short = f"outrider-{os.geteuid()}-{digest}"
    for folder in (root / "run", Path(tempfile.gettempdir()) / short, Path("/tmp") / short):  # noqa: S108 - checked private
        length = len(os.fsencode(folder / LONGEST_SOCKET_NAME))
        if length <= SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(str(folder)):
            return folder
    why = f"no folder has a path short enough for sockets: not {root}, not the temporary folder"
    raise HomeUnusable(why)


def _insist_on_private(folder: Path) -> None:
    """Whoever may enter the socket folder may speak to the database: it must be ours alone."""
    seen = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or seen.st_uid != os.geteuid() or seen.st_mode & 0o077:
        why = f"{folder} must be a folder of this user with mode 0700"
        raise HomeUnusable(why, "Remove it, or set OUTRIDER_HOME elsewhere.")


def seal_key(root: Path) -> str | None:
    """The embedded stack's own key of sealed requests; None before its first start. Raises: HomeUnusable."""
    path = root.expanduser() / SEAL_KEY
    try:
        if path.stat().st_mode & 0o077:
            why = f"{path} can be read by other users: its mode must be 0600, or remove it and a new one is made"
            raise HomeUnusable(why)
        return path.read_text().strip()
    except FileNotFoundError:
        return None


def make_seal_key(home: Home) -> str:
    """The key, made where there is none: whole, on disk and ours alone, before anything is sealed with it."""
    if (known := seal_key(home.root)) is not None:
        return known
    fresh = home.root / f"{SEAL_KEY}.new"
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        key = b64encode(os.urandom(SEAL_KEY_BYTES)).decode()
        file.write(f"{key}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(home.root / SEAL_KEY)
    return key


@contextmanager
def lock(home: Home, name: Literal["owner", "users"], *, shared: bool = False, wait: bool = False) -> Iterator[bool]:
    """Hold `NAME.lock` while the block runs; gives whether it was got."""
    with usable(home.root):
        handle = os.open(home.root / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, mode if wait else mode | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def wait_for_users(home: Home, seconds: float, hurry: Callable[[], bool]) -> None:
    """Return when nobody uses this stack any more; at the latest after `seconds`, or in a hurry."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not hurry():
        with lock(home, "users") as alone:
            if alone:
                return
        time.sleep(0.05)


def write_state(home: Home, state: State) -> None:
    """Tell others, in one step: a reader sees the old state or the new one."""
    fresh = home.root / "state.json.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(asdict(state), file)
    fresh.replace(home.root / "state.json")


def clear_state(home: Home) -> None:
    """Nothing runs here any more, and nothing was left behind. A state that stays costs the next start a look."""
    with suppress(OSError):
        (home.root / "state.json").unlink()


def leave_sockets(home: Home) -> None:
    """Remove the folder of sockets where it lies among the temporary files; one that is still used stays."""
    if home.sockets.parent != home.root:
        with suppress(OSError):
            home.sockets.rmdir()


def left_state(home: Home) -> bool:
    """Whether an owner wrote its state and did not clear it: it runs, or it was killed."""
    return (home.root / "state.json").exists()


def read_state(root: Path) -> State | None:
    """What a living owner of this home says; None when there is none."""
    try:
        state = State(**json.loads((root.expanduser() / "state.json").read_text()))
        return state if processes.born(state.pid) == state.born else None
    except (OSError, ValueError, TypeError):
        return None
