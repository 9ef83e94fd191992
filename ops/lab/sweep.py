"""The end of every process that lives in one network namespace, whoever its parent is."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def network_of(pid: int | str = "self") -> str:
    """The name of the network namespace a process lives in; empty when it is gone or not ours to see."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def inhabitants(network: str) -> list[int]:
    """The processes in `network`, without this one."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if pid != os.getpid() and network_of(pid) == network]


def clear(network: str, *, grace_seconds: float, most_seconds: float = 5.0) -> None:
    """End all inhabitants: SIGTERM, `grace_seconds` to go in order, then SIGKILL until none is left."""
    if not network:
        return
    started = time.monotonic()
    if grace_seconds:
        _signal_all(inhabitants(network), signal.SIGTERM)
        _wait_empty(network, started + grace_seconds)
    while time.monotonic() < started + grace_seconds + most_seconds:
        left = inhabitants(network)
        if not left:
            return
        _signal_all(left, signal.SIGKILL)
        _wait_empty(network, time.monotonic() + 0.5)


def _wait_empty(network: str, until: float) -> None:
    while time.monotonic() < until and inhabitants(network):
        time.sleep(0.02)


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
