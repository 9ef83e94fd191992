"""Activity: what a project and the fleet are doing, for the pages; identifiers, times, states and sizes alone."""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, RowMapping, select, text

from broker.ledger.statements import read
from broker.ledger.tables import OPERATIONS
from schemas.grants import Family

LEASES = text("""
SELECT id::text, project, tool, family, agent, run, step, admitted_at, lease_until,
    lease_until <= clock_timestamp() AS stale FROM operations
  WHERE state = 'pending' AND (CAST(:project AS text) IS NULL OR project = :project) ORDER BY lease_until LIMIT :limit
""")
ENDED = text("""
SELECT o.id::text, o.tool, o.agent, o.run, o.step, o.state, o.code, o.sent,
    coalesce(o.admitted_at, o.accepted_at) AS began_at, o.ended_at, r.body
  FROM operations o JOIN receipts r ON r.operation_id = o.id
  WHERE o.project = :project AND o.ended_at IS NOT NULL ORDER BY o.ended_at DESC LIMIT :limit
""")
# Admitted within two days: that bound lets the block range index work.
UNKNOWN = text("""
SELECT id::text, project, tool, agent, run, step, ended_at FROM operations
  WHERE admitted_at > (SELECT clock_timestamp() - interval '2 days') AND state = 'outcome_unknown'
  ORDER BY ended_at DESC LIMIT :limit
""")
BUDGETS = text("""
WITH latest AS MATERIALIZED (
  SELECT run, step, ended_at AS at FROM operations
    WHERE project = :project AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 200
), steps AS (
  SELECT run, step, max(at) AS at FROM (
    SELECT run, step, at FROM latest
    UNION ALL SELECT run, step, admitted_at FROM operations WHERE state = 'pending' AND project = :project
  ) AS known GROUP BY run, step
), runs AS (SELECT run, max(at) AS at FROM steps GROUP BY run ORDER BY at DESC LIMIT :limit)
SELECT r.run, NULL AS step, r.at, c.family, c.used FROM runs r
  JOIN counters c ON c.project = :project AND c.scope = 'run' AND c.name = r.run
UNION ALL
SELECT r.run, s.step, r.at, c.family, c.used FROM runs r JOIN steps s ON s.run = r.run
  JOIN counters c ON c.project = :project AND c.scope = 'step' AND c.name = s.run || '/' || s.step
ORDER BY at DESC, run, step NULLS FIRST, family
""")
PROJECTS_SEEN = text("""
SELECT id FROM projects ORDER BY id COLLATE "C" LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveLease:
    """One pending operation. `stale`: past its lease, and soon an unknown outcome."""

    id: str
    project: str
    tool: str
    family: Family
    agent: str
    run: str
    step: str
    admitted_at: datetime
    lease_until: datetime
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedOperation:
    """How one operation ended. `wire_bytes` and `requests` are summed from its receipt's hops."""

    id: str
    tool: str
    agent: str
    run: str
    step: str
    state: str
    code: str | None
    sent: str
    began_at: datetime
    ended_at: datetime
    requests: int
    wire_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownOutcome:
    """An operation of which nobody can say how it ended."""

    id: str
    project: str
    tool: str
    agent: str
    run: str
    step: str
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Reservations made of one family by a run, or by one of its steps."""

    run: str
    step: str | None
    at: datetime
    family: Family
    used: int


def read_leases(engine: Engine, project_id: str | None = None, *, limit: int = 100) -> tuple[ActiveLease, ...]:
    """The pending operations of a project, or of all. Order: the lease that ends first."""
    rows = read(engine, LEASES, {"project": project_id, "limit": limit})
    return tuple(ActiveLease(**row) for row in rows)


def read_ended(engine: Engine, project_id: str, *, limit: int = 25) -> tuple[EndedOperation, ...]:
    """The project's operations that ended last. Order: newest first."""
    rows = read(engine, ENDED, {"project": project_id, "limit": limit})
    return tuple(_ended(row) for row in rows)


def read_unknown(engine: Engine, *, limit: int = 50) -> tuple[UnknownOutcome, ...]:
    """The unknown outcomes of the last two days, of every project. Order: newest first."""
    return tuple(UnknownOutcome(**row) for row in read(engine, UNKNOWN, {"limit": limit}))


def read_budgets(engine: Engine, project_id: str, *, limit: int = 5) -> tuple[Spent, ...]:
    """What the project's latest runs and their steps have reserved. Order: newest run first, each before its steps."""
    return tuple(Spent(**row) for row in read(engine, BUDGETS, {"project": project_id, "limit": limit}))


def read_slots(engine: Engine, project_id: str) -> dict[Family, int]:
    """How many live leases the project holds, by family."""
    query = select(OPERATIONS.c.family, text("count(*) AS held")).where(
        OPERATIONS.c.state == "pending", OPERATIONS.c.project == project_id, text("lease_until > clock_timestamp()")
    )
    return {row["family"]: row["held"] for row in read(engine, query.group_by(OPERATIONS.c.family))}


def read_project_ids(engine: Engine, *, limit: int = 500) -> tuple[str, ...]:
    """The projects that were ever saved. Order: by id."""
    return tuple(row["id"] for row in read(engine, PROJECTS_SEEN, {"limit": limit}))


def _ended(row: RowMapping) -> EndedOperation:
    hops = json.loads(row["body"]).get("hops", [])
    facts = {name: row[name] for name in EndedOperation.__dataclass_fields__ if name in row}
    return EndedOperation(
        **facts,
        requests=sum(hop.get("sent") == "sent" for hop in hops),
        wire_bytes=sum(hop.get("wire_bytes", 0) for hop in hops),
    )
