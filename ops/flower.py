"""Flower: the page on which people watch the fleet. Loopback, read-only, behind a password made at each start."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.stack.child import Part
from ops.stack.home import Home
from ops.stack.listening import Entry, listening

USER = "outrider"
_OPTIONS = {
    "address": "127.0.0.1",
    "read_only": "True",
    "persistent": "False",
    "max_tasks": "5000",  # the default keeps 100,000 in memory
    "purge_offline_workers": "300",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowerEntry(Entry):
    """Where Flower listens, and who may look."""

    password: str = field(repr=False)


def make_entry(port: int) -> FlowerEntry:
    """An entry with a password of its own."""
    return FlowerEntry(port, password=secrets.token_urlsafe(16))


def part(home: Home, environment: Mapping[str, str], entry: FlowerEntry) -> Part:
    """How Flower is run. The password travels in the environment: a command line can be read by every user."""
    words = [f"--{name}={value}" for name, value in (_OPTIONS | {"port": str(entry.port)}).items()]
    sealed = dict(environment) | {"FLOWER_BASIC_AUTH": f"{USER}:{entry.password}"}
    # It holds nothing that is worth waiting for.
    return listening(home, "flower", ("celery", "-A", "ops.flower_app", "flower", *words), sealed, seconds=3.0)
