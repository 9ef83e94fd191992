"""The desk: what every request of the admin server is answered with."""

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from broker.ledger.engine import Ledger
from broker.settings import Settings
from ops.admin.throttle import Throttle

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One admin server's ledger, settings and memory of failed log-ins."""

    ledger: Ledger
    settings: Settings
    throttle: Throttle = field(default_factory=Throttle)

    @property
    def secure(self) -> bool:
        """Whether people reach us over https: their cookies then never travel without it."""
        return (self.settings.admin_url or "").startswith("https://")

    def hosts(self) -> list[str]:
        """The names we answer to: a page of a foreign name that was pointed at loopback gets nothing."""
        host = urlsplit(self.settings.admin_url or "").hostname
        return [*LOOPBACK, *([host] if host else [])]


def _desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(_desk_of)]
