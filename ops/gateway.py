"""The gateway's place in a stack: where it listens, and how it is run."""

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops.stack import ports
from ops.stack.child import HOUSE, Part
from ops.stack.home import Home


@dataclass(frozen=True, slots=True)
class Entry:
    """Where agents' clients connect."""

    port: int

    @property
    def url(self) -> str:
        """The one path that it serves."""
        return f"http://127.0.0.1:{self.port}/mcp"


def make_entry(port: int) -> Entry:
    """An entry at the wanted port; at a free one where that is taken."""
    return Entry(ports.choose(port))


def part(home: Home, environment: Mapping[str, str], entry: Entry, tier: int) -> Part:
    """How the gateway is run. It is stopped beside the workers: they finish what its clients wait for."""
    return Part(
        name="gateway",
        argv=(sys.executable, "-m", "broker.gateway"),
        folder=HOUSE,
        log=home.logs / "gateway.log",
        tier=tier,
        environment=dict(environment) | {"OUTRIDER_GATEWAY_PORT": str(entry.port)},
        stops=((signal.SIGTERM, 50.0), (signal.SIGKILL, 5.0)),  # it gives itself 43
        hurried_stops=((signal.SIGKILL, 5.0),),
        is_ready=lambda: not ports.is_free(entry.port),
    )
