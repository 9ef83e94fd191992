"""The ledger's connections: how a process reaches PostgreSQL."""

from typing import Any

from sqlalchemy import URL, Engine, NullPool, create_engine, make_url

Ledger = Engine  # the name by which other floors hold it: SQLAlchemy is known in this folder alone

# statement_timeout: a ledger call takes about a millisecond; 5 s means that something is wrong with the server.
# lock_timeout: the longest wait for a lock is a few commits.
# synchronous_commit: without it 120 of 120 acknowledged reservations were lost in a crash, each a second egress.
OPTIONS = (
    "-c statement_timeout=5000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000 "
    "-c synchronous_commit=on -c default_transaction_isolation=read\\ committed"
)
KEEPALIVES: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "outrider",
}


def ledger_engine(url: str, *, size: int) -> Engine:
    """A pool of at most `size` connections, each in autocommit: every statement is a transaction of its own.

    Connects at first use, never before. No ping before use (it would double the round trips): a lost connection is
    found by the call, which is safe to repeat.
    """
    return create_engine(
        _driver_url(url),
        isolation_level="AUTOCOMMIT",
        pool_size=size,
        max_overflow=0,
        pool_timeout=10,
        pool_recycle=300,
        pool_use_lifo=True,
        skip_autocommit_rollback=True,
        use_native_hstore=False,
        hide_parameters=True,
        connect_args={**KEEPALIVES, "options": OPTIONS},
    )


def migration_engine(url: str) -> Engine:
    """One connection with transactions and without a statement timeout, for migrations alone."""
    return create_engine(
        _driver_url(url),
        poolclass=NullPool,
        use_native_hstore=False,
        hide_parameters=True,
        connect_args={**KEEPALIVES, "options": "-c synchronous_commit=on"},
    )


def _driver_url(url: str) -> URL:
    """The URL with our driver named: SQLAlchemy 2.1 takes another one for a plain `postgresql://`."""
    return make_url(url.replace("postgres://", "postgresql://", 1)).set(drivername="postgresql+psycopg2")
