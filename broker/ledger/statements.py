"""Statements outside the hot path: settings, receipts, overviews; each a transaction of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, Executable, RowMapping
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolEmpty

from schemas.errors import LedgerUnavailable


def read(engine: Engine, statement: Executable, values: Mapping[str, Any] | None = None) -> Sequence[RowMapping]:
    """The rows of a statement that may be repeated. A connection that died in the pool costs one repeat, no error.

    Raises: LedgerUnavailable.
    """
    try:
        return write(engine, statement, values)
    except LedgerUnavailable:
        return write(engine, statement, values)


def write(engine: Engine, statement: Executable, values: Mapping[str, Any] | None = None) -> Sequence[RowMapping]:
    """The rows of a statement that is tried once. Raises: LedgerUnavailable; what was written is not known then."""
    try:
        with engine.connect() as connection:
            return connection.execute(statement, values).mappings().all()
    except PoolEmpty as error:
        raise _unavailable(error) from None
    except DBAPIError as error:
        if isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated:
            raise _unavailable(error.orig) from None
        raise


def _unavailable(cause: BaseException | None) -> LedgerUnavailable:
    return LedgerUnavailable("The ledger's database does not answer.", cause=type(cause).__name__)
