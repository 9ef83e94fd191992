"""What can go wrong with the stack, each saying what to do."""

import errno
import shutil
from pathlib import Path

# PostgreSQL's first folder takes about 40 MB, and each of its log segments 16 MB.
LEAST_FREE_BYTES = 64_000_000
_ELSEWHERE = "or set OUTRIDER_HOME to another folder of yours."
_FULL = (errno.ENOSPC, errno.EDQUOT)
_TODO = {
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), f"Make it writable for you, {_ELSEWHERE}"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR), f"Move away what is in its place, {_ELSEWHERE}"),
    **dict.fromkeys(_FULL, "Make room there, or set OUTRIDER_HOME to a folder on another disk."),
}


class StackError(RuntimeError):
    """The stack could not do what was asked: `what` happened, and what is `todo`. As text: both."""

    def __init__(self, what: str, todo: str = "`outrider doctor` says what is wrong with this machine.") -> None:
        super().__init__(f"{what.rstrip('.')}. {todo}".rstrip())
        self.what = what
        self.todo = todo


class StackBusy(StackError):
    """Another process owns this home."""

    def __init__(self, home: Path, pid: int | None, phase: str) -> None:
        who = f"by process {pid} ({phase})" if pid else "by another process"
        super().__init__(
            f"{home} is in use {who}", "Stop that one first (`outrider drain`), or give this one its own OUTRIDER_HOME."
        )
        self.pid = pid


class HomeUnusable(StackError):
    """The home folder cannot hold a stack."""

    def __init__(self, what: str, todo: str = f"Put it right, {_ELSEWHERE}") -> None:
        super().__init__(what, todo)

    @classmethod
    def of(cls, home: Path, error: OSError) -> "HomeUnusable":
        """What the system said of the home, in our words."""
        if error.errno in _FULL:
            return cls(f"the disk that holds {home} is full", _TODO[errno.ENOSPC])
        what = f"{home} cannot hold the stack ({error.strerror}: {error.filename2 or error.filename or home})"
        return cls(what, _TODO[error.errno]) if error.errno in _TODO else cls(what)


class PartFailed(StackError):
    """A part of the stack did not come up."""

    def __init__(self, name: str, why: str, log: Path) -> None:
        super().__init__(f"{name} did not start: {why}", f"Its log says why: {log}")
        self.name = name


def failed_part(name: str, why: str, log: Path) -> StackError:
    """Why a part did not come up: the disk, where that is full, for then its log may be empty."""
    free = shutil.disk_usage(log.parent).free
    if free < LEAST_FREE_BYTES:
        what = f"{name} did not start: the disk that holds {log.parent} is full ({free / 1_000_000:.0f} MB free)"
        return HomeUnusable(what, _TODO[errno.ENOSPC])
    return PartFailed(name, why, log)


class StartInterrupted(StackError):
    """The end was asked for before everything was up."""

    def __init__(self) -> None:
        super().__init__("interrupted while the stack was starting", "")
