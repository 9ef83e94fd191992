"""Calls of the ledger's functions: one statement, one commit, repeated through a database's short absences.

Repeating is safe only because every function here knows its caller by the owner's token: a call whose reply was lost
is answered as the first time. What PostgreSQL says is translated here, by one table, into our errors.
"""

import json
from time import sleep
from typing import Any

import psycopg2
from sqlalchemy import Engine
from sqlalchemy.exc import TimeoutError as PoolEmpty

from schemas.deadline import Deadline
from schemas.errors import (
    AgentNotPermitted,
    CallConflict,
    CapabilityDisabled,
    Cooldown,
    ExecutionDeadlineExceeded,
    Internal,
    InvalidArguments,
    LedgerUnavailable,
    OutriderError,
    ProjectBusy,
    RunQuotaExhausted,
    RunTerminal,
    StepQuotaExhausted,
)

Row = tuple[Any, ...]

# What the functions of broker/migrations/functions RAISE, by SQLSTATE.
REFUSALS: dict[str, tuple[type[OutriderError], str]] = {
    "OR001": (CapabilityDisabled, "The project does not have this capability switched on."),
    "OR002": (AgentNotPermitted, "The project does not permit this agent."),
    "OR003": (StepQuotaExhausted, "The step has used all its reservations."),
    "OR004": (RunQuotaExhausted, "The run has used all its reservations."),
    "OR005": (ProjectBusy, "All of the project's concurrent requests are in use."),
    "OR006": (Cooldown, "Too soon after the project's previous start."),
    "OR007": (CallConflict, "The call id was used before with other arguments."),
    "OR020": (Internal, "A final row of the ledger was to be changed."),
    "OR021": (Internal, "The lease is not one that this ledger granted."),
    "OR030": (RunTerminal, "The run is not running."),
    "OR031": (ExecutionDeadlineExceeded, "The run's time is over."),
}
# A standby that was just promoted still says "read only"; a mutex that failed shows as a broken unique key.
PASSING = ("25006", "23505")
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 1.0


def call(engine: Engine, statement: str, values: Row, *, patience_seconds: float) -> Row:
    """The one row of a ledger function. A server that stays away longer than the patience is given up.

    Raises: the errors of REFUSALS; InvalidArguments for text that PostgreSQL cannot hold; LedgerUnavailable.
    """
    deadline = Deadline.after(patience_seconds)
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return _once(engine, statement, values)
        except (psycopg2.Error, PoolEmpty) as error:
            connected = _judge(error)
            left = deadline.left_seconds()
            if left <= 0:
                raise LedgerUnavailable("The ledger's database does not answer.", **_seen(error)) from None
        # A connection that was lost may be one of a whole pool of dead ones: only a server that is away earns a wait.
        # The last try is made when patience ends, not a pause before it: a server may have come back in between.
        sleep(min(left, FIRST_PAUSE_SECONDS if connected else pause))
        pause = FIRST_PAUSE_SECONDS if connected else min(2 * pause, LONGEST_PAUSE_SECONDS)


def _once(engine: Engine, statement: str, values: Row) -> Row:
    """One try on one pooled connection. A connection that failed in any way but by a refusal is thrown away."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(statement, values)
        row: Row | None = cursor.fetchone()
        cursor.close()
    except ValueError:
        # NUL, or half a surrogate pair. The text is a foreign one, so it is not told.
        raise InvalidArguments("An identifier holds characters that cannot be stored.") from None
    except psycopg2.Error as error:
        if error.pgcode not in REFUSALS:
            connection.invalidate()
        raise
    finally:
        connection.close()
    if row is None:
        raise Internal("A ledger function gave no row.")
    return row


def _judge(error: Exception) -> bool:
    """Whether the failed try had reached a server. Raises: what the error means, when a repeat would not help."""
    if isinstance(error, PoolEmpty):
        return False
    code = getattr(error, "pgcode", None)
    if code in REFUSALS:
        kind, message = REFUSALS[code]
        raise kind(message, **_facts(error)) from None
    if not _passes(error, code):
        raise Internal("The ledger refused a statement.", **_seen(error)) from None
    return isinstance(error, psycopg2.InterfaceError) or getattr(error, "cursor", None) is not None


def _passes(error: Exception, code: str | None) -> bool:
    """Whether a repeat may end better. A line that breaks at a bad moment comes as a bare DatabaseError, no code."""
    if isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError) or code in PASSING:
        return True
    return code is None and type(error) is psycopg2.DatabaseError


def _facts(error: Exception) -> dict[str, Any]:
    detail = getattr(getattr(error, "diag", None), "message_detail", None)
    facts: dict[str, Any] = json.loads(detail) if detail else {}
    return facts


def _seen(error: Exception) -> dict[str, Any]:
    """What may be told of a foreign error: its kind and SQLSTATE; its text may hold values."""
    return {"cause": type(error).__name__, "sqlstate": getattr(error, "pgcode", None)}
