"""The admin server's place in a stack: where it listens, and how it is run."""

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops.stack import ports
from ops.stack.child import HOUSE, Part
from ops.stack.home import Home


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the pages and the API are."""

    port: int

    @property
    def url(self) -> str:
        """The first page's address."""
        return f"http://127.0.0.1:{self.port}/admin/"


def make_entry(port: int) -> Entry:
    """An entry at the wanted port; at a free one where that is taken."""
    return Entry(ports.choose(port))


def part(home: Home, environment: Mapping[str, str], entry: Entry) -> Part:
    """How the admin server is run."""
    return Part(
        name="admin",
        argv=(sys.executable, "-m", "ops.admin"),
        folder=HOUSE,
        log=home.logs / "admin.log",
        tier=2,
        environment=dict(environment) | {"OUTRIDER_ADMIN_PORT": str(entry.port)},
        stops=((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)),
        hurried_stops=((signal.SIGKILL, 5.0),),
        is_ready=lambda: not ports.is_free(entry.port),
    )
