"""Whether a database may carry a ledger: durable commits, a clock, the right schema."""

from time import time

from alembic.migration import MigrationContext
from sqlalchemy import Engine, text

from broker.ledger.migrate import newest_revision
from broker.ledger.statements import read
from schemas.errors import Broken

DURABILITY = text(
    "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, "
    "current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS standby"
)
CLOCK = text("SELECT extract(epoch FROM clock_timestamp())::double precision AS now")


class LedgerNotDurable(Broken):
    """The database acknowledges commits that a crash would lose; no ledger is kept there. Facts: setting."""

    hint = "Change the named setting of PostgreSQL and start again."


def durability(engine: Engine) -> None:
    """Nothing, for a server whose acknowledged commits survive a crash.

    A reservation that is lost after its request was sent is a second egress.
    Raises: LedgerNotDurable, which says what to change.
    """
    [row] = read(engine, DURABILITY)
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if row[name] == "off":
            raise LedgerNotDurable(
                f"PostgreSQL runs with {name} = off: set {name} = on (postgresql.conf, ALTER DATABASE or ALTER ROLE).",
                setting=name,
            )
    if row["standby"]:
        raise LedgerNotDurable("This PostgreSQL is a standby: point the ledger at the primary.", setting="standby")


def clock_offset_seconds(engine: Engine) -> float:
    """How far the database's clock is ahead of ours, within half a round trip. Leases are judged by the database's."""
    read(engine, CLOCK)  # the first use may have to connect
    before = time()
    [row] = read(engine, CLOCK)
    after = time()
    return float(row["now"]) - (before + after) / 2


def schema_is_current(engine: Engine) -> bool:
    """Whether the schema is the one that this code was written for."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == newest_revision()
