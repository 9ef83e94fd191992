"""Whether a database may carry a ledger: durable commits, a clock, the right schema."""

from time import time

from alembic.migration import MigrationContext
from sqlalchemy import Engine, text

from broker.ledger.migrate import newest_revision
from schemas.errors import Broken

DURABILITY = text(
    "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, "
    "current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS standby"
)
CLOCK = text("SELECT extract(epoch FROM clock_timestamp())::double precision")


class LedgerNotDurable(Broken):
    """The database acknowledges commits that a crash would lose; no ledger is kept there. Facts: setting."""

    hint = "Change the named setting of PostgreSQL and start again."


def durability(engine: Engine) -> None:
    """Nothing, for a server whose acknowledged commits survive a crash.

    A reservation that is lost after its request was sent is a second egress.
    Raises: LedgerNotDurable, which says what to change.
    """
    with engine.connect() as connection:
        row = connection.execute(DURABILITY).one()
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if getattr(row, name) == "off":
            raise LedgerNotDurable(
                f"PostgreSQL runs with {name} = off: set {name} = on (postgresql.conf, ALTER DATABASE or ALTER ROLE).",
                setting=name,
            )
    if row.standby:
        raise LedgerNotDurable("This PostgreSQL is a standby: point the ledger at the primary.", setting="standby")


def clock_offset_seconds(engine: Engine) -> float:
    """How far the database's clock is ahead of ours, within half a round trip. Leases are judged by the database's."""
    with engine.connect() as connection:
        before = time()
        theirs = float(connection.execute(CLOCK).scalar_one())
        after = time()
    return theirs - (before + after) / 2


def schema_is_current(engine: Engine) -> bool:
    """Whether the schema is the one that this code was written for."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == newest_revision()
