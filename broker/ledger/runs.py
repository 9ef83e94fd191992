"""Runs: what its agents called and what that reserved, and which of its steps run again on a retry (M152, M153)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, text

from broker.ledger.statements import read, write
from schemas.grants import Family

# Operations of the run that have ended, wait or run: each by an index of its own. A call is an operation, or a refusal
# that left none; a reservation is an operation that was admitted.
CALLS = """
WITH calls AS (
  SELECT step, agent, family, admitted_at, state FROM operations
    WHERE project = :project AND run = :run AND ended_at IS NOT NULL
  UNION ALL
  SELECT step, agent, family, admitted_at, state FROM operations
    WHERE state = 'pending' AND project = :project AND run = :run
  UNION ALL
  SELECT step, agent, family, admitted_at, state FROM operations
    WHERE state = 'accepted' AND project = :project AND run = :run
), counted AS (
  SELECT step, agent, family, count(*) AS calls, count(admitted_at) AS reservations,
      count(*) FILTER (WHERE state = 'completed') AS completed
    FROM calls GROUP BY step, agent, family
  UNION ALL
  SELECT step, agent, family, calls, 0, 0 FROM refusals WHERE project = :project AND run = :run
)
"""
AGENTS = text(f"""{CALLS}
SELECT agent, family, sum(calls)::bigint AS calls, sum(reservations)::bigint AS reservations,
    sum(completed)::bigint AS completed
  FROM counted GROUP BY agent, family ORDER BY agent COLLATE "C", family
""")  # noqa: S608 - constants
STEPS = f"""{CALLS}, live AS (
  SELECT step, array_agg(DISTINCT agent ORDER BY agent) AS agents, sum(reservations)::bigint AS reservations
    FROM counted GROUP BY step HAVING sum(reservations) > 0
)
"""  # noqa: S608 - constants
LIVE = text(f'{STEPS} SELECT step, agents, reservations FROM live ORDER BY step COLLATE "C"')  # noqa: S608 - constants
# The run's log is the audit trail: one row for each step that runs again, written with the answer that names it.
RETRY = text(f"""{STEPS}, noted AS (
  INSERT INTO audit (at, actor, action, project, facts)
  SELECT clock_timestamp(), :actor, 'run.step.runs-again', :project,
    jsonb_build_object('run', CAST(:run AS text), 'step', step, 'agents', agents) FROM live
)
SELECT step, agents, reservations FROM live ORDER BY step COLLATE "C"
""")  # noqa: S608 - constants
LOG = text("""
SELECT at, actor, facts ->> 'step' AS step FROM audit
  WHERE project = :project AND action = 'run.step.runs-again' AND facts ->> 'run' = :run ORDER BY id DESC LIMIT 200
""")
RECENT = text("""
SELECT run, max(ended_at) AS last_at, count(*) AS ended FROM (
  SELECT run, ended_at FROM operations
    WHERE project = :project AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 500
) AS latest GROUP BY run ORDER BY last_at DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCalls:
    """What an agent called of one family in a run, unsuccessful and refused calls with it; and what that reserved."""

    agent: str
    family: Family
    calls: int
    reservations: int
    completed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStep:
    """A step that took something from the live web: its result must not be used again on a retry of the workflow."""

    step: str
    agents: tuple[str, ...]
    reservations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One step that a retry was told to run again."""

    at: datetime
    actor: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentRun:
    """A run whose operations ended lately."""

    run: str
    last_at: datetime
    ended: int


def read_agent_calls(engine: Engine, project_id: str, run: str) -> tuple[AgentCalls, ...]:
    """What each agent called in the run. Order: by agent, then family."""
    return tuple(AgentCalls(**row) for row in read(engine, AGENTS, {"project": project_id, "run": run}))


def read_live_steps(engine: Engine, project_id: str, run: str) -> tuple[LiveStep, ...]:
    """The steps with live web inputs. Order: by step."""
    rows = read(engine, LIVE, {"project": project_id, "run": run})
    return tuple(LiveStep(**{**row, "agents": tuple(row["agents"])}) for row in rows)


def announce_retry(engine: Engine, project_id: str, run: str, *, actor: str) -> tuple[LiveStep, ...]:
    """The steps that a retry of the run must execute again; each is written into the run's log."""
    rows = write(engine, RETRY, {"project": project_id, "run": run, "actor": actor})
    return tuple(LiveStep(**{**row, "agents": tuple(row["agents"])}) for row in rows)


def read_run_log(engine: Engine, project_id: str, run: str) -> tuple[LogLine, ...]:
    """What the run's log says of steps that run again. Order: newest first."""
    return tuple(LogLine(**row) for row in read(engine, LOG, {"project": project_id, "run": run}))


def read_recent_runs(engine: Engine, project_id: str, *, limit: int = 10) -> tuple[RecentRun, ...]:
    """The runs whose operations ended last. Order: newest first."""
    return tuple(RecentRun(**row) for row in read(engine, RECENT, {"project": project_id, "limit": limit}))
