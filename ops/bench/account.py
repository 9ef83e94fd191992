"""Accounts: what each part of the stack has used so far, by the kernel's own books."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

WORKER = "worker"
EXTRACTION = "extraction"
# Other parts, by their name in the stack.
_SHOWN = {"postgres": "PostgreSQL", "broker": "broker Valkey", "results": "result Valkey"}
LAB = "lab: origins and DNS"
CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes of the worker's main process, and of its extraction children together."""

    main: int
    children: int


class Accounts:
    """The books of a running stack. Shape: `pids` are the stack's parts by name, `worker` the name of its worker."""

    def __init__(self, pids: Mapping[str, int], worker: str) -> None:
        self.worker = psutil.Process(pids[worker])
        self._roots = {_SHOWN[name]: psutil.Process(pid) for name, pid in pids.items() if name in _SHOWN}
        self._own = psutil.Process()
        # The lab's servers are its supervisor's children, as we are.
        self._lab = [one for one in psutil.Process(os.getppid()).children() if one.pid != os.getpid()]

    def cpu_seconds(self) -> dict[str, float]:
        """User and system time of each part so far, its ended children included."""
        main = sum(self.worker.cpu_times()[:2])
        found = {WORKER: main, EXTRACTION: _tree_seconds(self.worker) - main}
        found |= {name: _tree_seconds(root) for name, root in self._roots.items()}
        found[LAB] = sum(_tree_seconds(one) for one in self._lab)
        found[CLIENT] = sum(self._own.cpu_times()[:2])
        return found

    def memory(self) -> Memory:
        """What the worker has resident now."""
        children = 0
        for child in self.worker.children(recursive=True):
            with suppress(psutil.Error):
                children += child.memory_info().rss
        return Memory(main=self.worker.memory_info().rss, children=children)


def _tree_seconds(root: psutil.Process) -> float:
    """CPU of a process and of all that descend from it, the dead through their parents."""
    total = 0.0
    for one in (root, *root.children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(one.cpu_times()[:4])
    return total
