"""Flower: the page on which people watch the fleet. Loopback, read-only, behind a password made at each start."""

import secrets
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops.stack import ports
from ops.stack.child import HOUSE, Part
from ops.stack.home import Home

USER = "outrider"
_OPTIONS = {
    "address": "127.0.0.1",
    "read_only": "True",
    "persistent": "False",
    "max_tasks": "5000",  # the default keeps 100,000 in memory
    "purge_offline_workers": "300",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Where Flower listens, and who may look."""

    port: int
    password: str

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.port}/"


def make_entry(port: int) -> Entry:
    """An entry at the wanted port; at a free one where that is taken."""
    return Entry(port=ports.choose(port), password=secrets.token_urlsafe(16))


def part(home: Home, environment: Mapping[str, str], entry: Entry) -> Part:
    """How Flower is run. The password travels in the environment: a command line can be read by every user."""
    words = [f"--{name}={value}" for name, value in (_OPTIONS | {"port": str(entry.port)}).items()]
    return Part(
        name="flower",
        argv=(sys.executable, "-m", "celery", "-A", "ops.flower_app", "flower", *words),
        folder=HOUSE,
        log=home.logs / "flower.log",
        tier=2,
        environment=dict(environment) | {"FLOWER_BASIC_AUTH": f"{USER}:{entry.password}"},
        stops=((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0)),  # it holds nothing that is worth waiting for
        hurried_stops=((signal.SIGKILL, 5.0),),
        is_ready=lambda: not ports.is_free(entry.port),
    )
