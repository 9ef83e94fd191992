"""Listening parts: what of a stack is reached at a port of loopback, and how such a part is run."""

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops.stack.child import HOUSE, Part
from ops.stack.home import Home

WATCHERS = 2  # the tier that is stopped after the workers


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a part is reached. Shape: `path` begins with a slash."""

    port: int
    path: str = "/"

    @property
    def url(self) -> str:
        """The address to begin at."""
        return f"http://127.0.0.1:{self.port}{self.path}"


def listening(
    home: Home,
    name: str,
    words: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    tier: int = WATCHERS,
    seconds: float = 5.0,
) -> Part:
    """How `python -m WORDS` is run as a part, stopped within `seconds`.

    Nobody waits until it listens: a page that does not come up keeps no call from being carried out.
    """
    return Part(
        name=name,
        argv=(sys.executable, "-m", *words),
        folder=HOUSE,
        log=home.logs / f"{name}.log",
        tier=tier,
        environment=environment,
        stops=((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)),
        hurried_stops=((signal.SIGKILL, 5.0),),
    )
