"""The system calls Python 3.11 does not carry: unshare, setns, mount, prctl."""

import ctypes
import os
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Give this process namespaces of its own. Raises: OSError."""
    _checked(_libc.unshare(flags), "unshare")


def setns(path: Path, kind: int) -> None:
    """Enter the namespace at `path`. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.setns(descriptor, kind), f"setns {path}")
    finally:
        os.close(descriptor)


def keep_mounts_private() -> None:
    """Stop mounts made here from reaching the namespace we came from. Raises: OSError."""
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None), "mount private")


def bind_file(source: Path, target: Path) -> None:
    """Show `source` in the place of `target`, in this mount namespace alone. Raises: OSError."""
    made = _libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(MS_BIND), None)
    _checked(made, f"mount {target}")


def die_with_parent(signal_number: int, parent: int) -> None:
    """Ask for `signal_number` when the parent ends, also when it ended before we asked.

    Must come after any change of credentials, which clears the request.
    """
    _libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal_number)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, so that it can reap them."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
