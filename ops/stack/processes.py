"""Other processes of this machine: found by what marks them, and ended."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress

import psutil

# Every child of a stack carries its home in this variable, and passes it on to its own children.
MARK = "OUTRIDER_STACK"
_PATIENCE_SECONDS = 10.0


def born(pid: int | None = None) -> float:
    """When a process began, to tell it from a later one with the same pid; 0 when there is none."""
    try:
        return float(psutil.Process(pid or os.getpid()).create_time())
    except psutil.Error:
        return 0.0


def working_in(folders: Iterable[str], name: str) -> list[psutil.Process]:
    """The processes with this program name that work in one of these folders, as servers do in their data."""
    places = set(folders)
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
            if process.info["name"] == name and process.cwd() in places:
                found.append(process)
    return found


def marked(value: str) -> list[psutil.Process]:
    """The processes that carry our mark with this value, but never this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == value:
                found.append(process)
    return found


def heads(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those whose parent is not among them."""
    pids = {process.pid for process in processes}
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if process.ppid() not in pids:
                found.append(process)
    return found


def end(processes: list[psutil.Process], numbers: tuple[signal.Signals, ...]) -> None:
    """Send the signals one after the other to the heads among them, until all are gone."""
    for number in numbers:
        if not processes:
            return
        for process in heads(processes):
            with suppress(psutil.Error):
                process.send_signal(number)
        _gone, processes = psutil.wait_procs(processes, timeout=_PATIENCE_SECONDS)
