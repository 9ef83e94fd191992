"""What can go wrong with the stack, each saying what to do."""

from pathlib import Path


class StackError(RuntimeError):
    """The stack could not do what was asked; the message says what to do."""


class StackBusy(StackError):
    """Another process owns this home."""

    def __init__(self, home: Path, pid: int | None, phase: str) -> None:
        who = f"by process {pid} ({phase})" if pid else "by another process"
        super().__init__(f"{home} is in use {who}. Stop that one first, or give this one its own OUTRIDER_HOME.")
        self.pid = pid


class HomeUnusable(StackError):
    """The home folder cannot hold a stack."""


class PartFailed(StackError):
    """A part of the stack did not come up."""

    def __init__(self, name: str, why: str, log: Path) -> None:
        super().__init__(f"{name} did not start: {why}. Its log: {log}")
        self.name = name


class StartInterrupted(StackError):
    """The end was asked for before everything was up."""

    def __init__(self) -> None:
        super().__init__("interrupted while the stack was starting")
