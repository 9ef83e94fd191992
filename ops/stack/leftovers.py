"""Leftovers: what a supervisor that was killed left running in its home, and how it is ended."""

import signal

from ops.stack import postgres, processes, valkey
from ops.stack.home import Home


def clear(home: Home) -> None:
    """End them all, fleet first. The owner's lock is held: nothing that runs here is anybody's."""
    processes.end(processes.marked(str(home.root)), (signal.SIGTERM, signal.SIGKILL))
    valkey.let_go(home)
    postgres.let_go(home)
