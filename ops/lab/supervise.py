"""One lab from its first process to its last: servers up, COMMAND run, signals passed on, everything ended.

Two processes watch each other. The outer one stays in the caller's network; the supervisor lives in the new one, adopts
every orphan there and ends with SIGTERM when the outer one dies, however it dies. When the supervisor itself is killed,
the outer one clears the namespace. COMMAND has a process group of its own, so a Ctrl-C reaches it once.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ops.lab import kernel, namespace, servers, sweep
from ops.lab.command import environment, execute
from ops.lab.errors import LabUnavailable
from ops.lab.zone import Zone

FORWARDED = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
WATCHED = FORWARDED | {signal.SIGCHLD}
# A COMMAND's daemons are told to end and given this long; an orphaned COMMAND too.
GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run, in which zone, with its folder of sockets and logs."""

    command: Sequence[str]
    zone: Zone
    folder: Path
    foreground: bool


def run(command: Sequence[str], zone: Zone, json_log: Path | None = None) -> int:
    """Run COMMAND in a fresh lab and give its exit status, 128 + n when signal n ended it. Raises: LabUnavailable."""
    reason = namespace.available()
    if reason is not None:
        raise LabUnavailable(reason)
    folder = Path(tempfile.mkdtemp(prefix="outrider-lab-"))
    folder.chmod(0o755)  # COMMAND may drop to another user, who needs the CA
    if json_log is not None:
        (folder / servers.JOURNAL).symlink_to(json_log.absolute())
    plan = Plan(command=command, zone=zone, folder=folder, foreground=_in_foreground())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        return _outer(plan)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _take_terminal_back(plan.foreground)


def _outer(plan: Plan) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        _exit_with(lambda: _supervise(plan, parent))
    try:
        while True:
            number = signal.sigwait(WATCHED)
            if number != signal.SIGCHLD:
                os.kill(supervisor, number)
                continue
            ended, status = os.waitpid(supervisor, os.WNOHANG)
            if ended:
                return _exit_status(status)
    finally:
        with suppress(OSError):
            sweep.clear((plan.folder / "network").read_text(), grace_seconds=0)
        shutil.rmtree(plan.folder, ignore_errors=True)


def _supervise(plan: Plan, parent: int) -> int:
    os.setpgid(0, 0)
    try:
        has_ipv6 = namespace.enter(plan.folder)
        kernel.adopt_orphans()
        kernel.die_with_parent(signal.SIGTERM, parent)
        (plan.folder / "network").write_text(sweep.network_of())
        (plan.folder / "supervisor").write_text(str(os.getpid()))
        servers.start(plan.zone, plan.folder, has_ipv6=has_ipv6)
        return _watch(_start(plan), parent)
    except LabUnavailable as refusal:
        sys.stderr.write(f"lab: {refusal}\n")
        return refusal.exit_status
    finally:
        sweep.clear(sweep.network_of(), grace_seconds=GRACE_SECONDS)
        if os.getppid() != parent:
            shutil.rmtree(plan.folder, ignore_errors=True)


def _start(plan: Plan) -> int:
    supervisor = os.getpid()
    command = os.fork()
    if command == 0:
        _exit_with(lambda: _become(plan, supervisor))
    return command


def _become(plan: Plan, supervisor: int) -> int:
    os.setpgid(0, 0)
    if plan.foreground:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
    kernel.die_with_parent(signal.SIGTERM, supervisor)
    return execute(plan.command, environment(plan.folder))


def _watch(command: int, parent: int) -> int:
    """Pass signals on and reap orphans until COMMAND ends, or two seconds after the outer process is gone."""
    until: float | None = None
    while until is None or time.monotonic() < until:
        arrived = signal.sigtimedwait(WATCHED, 0.25)
        if until is None and os.getppid() != parent:
            os.kill(command, signal.SIGTERM)
            until = time.monotonic() + GRACE_SECONDS
        elif arrived is not None and arrived.si_signo in FORWARDED:
            os.kill(command, arrived.si_signo)
        status = _reap(command)
        if status is not None:
            return _exit_status(status)
    return 128 + signal.SIGTERM


def _reap(command: int) -> int | None:
    """The wait status of COMMAND when it has ended. A stopped COMMAND goes on: the lab has no job control."""
    found: int | None = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if pid == command and os.WIFSTOPPED(status):
                os.kill(command, signal.SIGCONT)
            elif pid == command:
                found = status
    return found


def _exit_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _exit_with(work: "servers.Work") -> None:
    """End this forked child with `work`'s status, without the parent's clean-up handlers."""
    status = 70  # EX_SOFTWARE: only when `work` raised
    try:
        status = work()
    except BaseException:  # noqa: BLE001 - the child must not run on into the parent's code
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _in_foreground() -> bool:
    with suppress(OSError):
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    return False


def _take_terminal_back(foreground: bool) -> None:  # noqa: FBT001 - one private caller
    if foreground:
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
