"""The ledger of a stack: its schema made current, and the project that an embedded stack begins with."""

from broker.ledger.engine import ledger_engine
from broker.ledger.migrate import upgrade
from broker.ledger.projects import ensure_local_project


def make_current(url: str) -> None:
    """Run the migrations that are missing, and make the project `local` where it is missing."""
    upgrade(url)
    ledger = ledger_engine(url, size=1)
    try:
        ensure_local_project(ledger)
    finally:
        ledger.dispose()
