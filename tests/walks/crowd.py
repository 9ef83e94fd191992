"""Many calls through the fleet at once, each in a project of its own, with the account that the ledger kept of each."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from broker.ledger.receipts import read_receipt
from tests.fleet import Fleet


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one call: its envelope, and its receipt's body where it has one."""

    envelope: dict[str, Any]
    receipt: dict[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The envelope's outcome."""
        return self.envelope["outcome"]

    @property
    def code(self) -> str | None:
        """The error's code."""
        return None if self.envelope["error"] is None else self.envelope["error"]["code"]

    @property
    def facts(self) -> dict[str, Any]:
        """The error's facts."""
        return {} if self.envelope["error"] is None else self.envelope["error"]["facts"]

    @property
    def hops(self) -> list[dict[str, Any]]:
        """The receipt's hops."""
        return self.receipt["hops"]


def look(fleet: Fleet, envelope: dict[str, Any]) -> Seen:
    """An envelope with its receipt."""
    if envelope["receipt"] is None:
        return Seen(envelope)
    stored = read_receipt(fleet.ledger, envelope["receipt"]["id"])
    assert stored is not None
    return Seen(envelope, json.loads(stored.body))


def see(fleet: Fleet, url: str, **context: str) -> Seen:
    """One call, and what came of it."""
    return look(fleet, fleet.fetch(url, context=fleet.context(**context)))


def see_all(fleet: Fleet, urls: Iterable[tuple[str, str]]) -> dict[str, Seen]:
    """What came of each named URL. All are sent first: a project of its own gives each call a free slot."""
    handles = {name: fleet.send(url, context=fleet.context(project=fleet.project())) for name, url in urls}
    return {name: look(fleet, fleet.reply(handle, 90)) for name, handle in handles.items()}
