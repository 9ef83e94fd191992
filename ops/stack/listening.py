"""Listening parts: what of a stack is reached at a port of loopback, and how such a part is run."""

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops.stack import ports
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


def listening(  # noqa: PLR0913 - the columns of one table
    home: Home,
    name: str,
    words: tuple[str, ...],
    entry: Entry,
    environment: Mapping[str, str],
    *,
    tier: int = WATCHERS,
    seconds: float = 5.0,
    awaited: bool = True,
) -> Part:
    """How `python -m WORDS` is run as a part: stopped within `seconds`, ready when it listens, if that is awaited."""
    return Part(
        name=name,
        argv=(sys.executable, "-m", *words),
        folder=HOUSE,
        log=home.logs / f"{name}.log",
        tier=tier,
        environment=environment,
        stops=((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)),
        hurried_stops=((signal.SIGKILL, 5.0),),
        is_ready=lambda: not (awaited and ports.is_free(entry.port)),
    )
