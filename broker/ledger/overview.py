"""Overview: where operations stand, for readers who neither admit nor settle."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, select, text

from broker.ledger.receipts import is_id
from broker.ledger.statements import read
from broker.ledger.tables import OPERATIONS
from schemas.operation import OperationState

FINALIZE = text("SELECT ledger_finalize(:id), ledger_expire(:id)")
# An operation that ended in the last hour was admitted in the last two: that bound lets the block range index work.
COUNTS = text("""
SELECT state, count(*) AS total, count(*) FILTER (WHERE lease_until <= clock_timestamp()) AS stale FROM operations
  WHERE state = 'pending' GROUP BY state
UNION ALL
SELECT state, count(*), 0 FROM operations WHERE state = 'accepted' GROUP BY state
UNION ALL
SELECT state, count(*), 0 FROM (
  SELECT state FROM operations
    WHERE admitted_at > (SELECT clock_timestamp() - interval '2 hours')
      AND ended_at > (SELECT clock_timestamp() - interval '1 hour')
  UNION ALL
  SELECT state FROM operations
    WHERE admitted_at IS NULL AND accepted_at > (SELECT clock_timestamp() - interval '2 hours')
      AND ended_at > (SELECT clock_timestamp() - interval '1 hour')
) AS ended GROUP BY state
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """One operation, as a reader may see it."""

    id: str
    project: str
    agent: str
    run: str
    step: str
    key: str
    tool: str
    task_id: str
    state: OperationState
    code: str | None
    sent: str | None
    accepted_at: datetime | None
    admitted_at: datetime | None
    lease_until: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Operations now accepted, pending, those past their lease, and those ended in the last hour by state."""

    pending: int
    stale: int
    ended: dict[OperationState, int]
    accepted: int = 0


def read_operation(engine: Engine, operation_id: str) -> OperationView | None:
    """An operation, None when there is none of that id. One past its lease is finalized by being looked at."""
    if not is_id(operation_id):
        return None
    read(engine, FINALIZE, {"id": operation_id})
    rows = read(engine, _VIEW.where(OPERATIONS.c.id == operation_id))
    return OperationView(**{**rows[0], "state": OperationState(rows[0]["state"])}) if rows else None


def read_counts(engine: Engine) -> Counts:
    """How many operations stand where."""
    rows = {OperationState(row["state"]): row for row in read(engine, COUNTS)}
    pending = rows.pop(OperationState.PENDING, None)
    accepted = rows.pop(OperationState.ACCEPTED, None)
    return Counts(
        accepted=accepted["total"] if accepted else 0,
        pending=pending["total"] if pending else 0,
        stale=pending["stale"] if pending else 0,
        ended={state: row["total"] for state, row in rows.items()},
    )


_VIEW = select(*(OPERATIONS.c[name] for name in OperationView.__dataclass_fields__))
