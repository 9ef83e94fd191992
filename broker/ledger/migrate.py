"""Bringing a ledger's schema up to date."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

import broker
from broker.ledger.engine import migration_engine

MIGRATIONS = Path(broker.__file__).parent / "migrations"


def upgrade(url: str) -> None:
    """Migrate to the newest revision. Safe when several processes do it at once: they take turns, and the rest is done.

    Raises: sqlalchemy.exc.DBAPIError when a busy table or a turn did not come in time; nothing is changed then.
    """
    engine = migration_engine(url)
    try:
        with engine.connect() as connection:
            command.upgrade(configuration(connection), "head")
    finally:
        engine.dispose()


def newest_revision() -> str | None:
    """The revision that this code was written for."""
    return ScriptDirectory(str(MIGRATIONS)).get_current_head()


def configuration(connection: Connection) -> Config:
    """Alembic's configuration for our migrations on that connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
