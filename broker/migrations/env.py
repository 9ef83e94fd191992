"""Alembic's door: runs the migrations on the connection it is given, or on the settings' own database."""

from alembic import context
from sqlalchemy import Connection, text

from broker.ledger.engine import migration_engine
from broker.ledger.tables import OPERATIONS
from broker.settings import settings

# Chosen once; any process that migrates a ledger takes it first. In the same number space as the calls' mutexes,
# which are hashes of 64 bits: a meeting costs a wait, nothing else.
MUTEX = 0x6F75747269646572


def _migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=OPERATIONS.metadata, compare_server_default=True)
    with context.begin_transaction():
        # Waiting for another process's migration is patient; waiting for a busy table is not (house rule: 4 s).
        connection.execute(text("SELECT set_config('lock_timeout', '120s', true)"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:mutex)"), {"mutex": MUTEX})
        connection.execute(text("SELECT set_config('lock_timeout', '4s', true)"))
        context.run_migrations()


def _run() -> None:
    given = context.config.attributes.get("connection")
    if given is not None:
        _migrate(given)
        return
    url = settings().database_url
    if url is None:
        msg = "Set OUTRIDER_DATABASE_URL to use alembic by hand, or use `outrider migrate`."
        raise RuntimeError(msg)
    with migration_engine(url).connect() as connection:
        _migrate(connection)


_run()
