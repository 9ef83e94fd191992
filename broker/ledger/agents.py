"""Agents: which web tools each is given, now and in the executions that have begun (M136, M137)."""

from dataclasses import dataclass

from sqlalchemy import Engine, RowMapping, text

from broker.ledger.statements import read, write
from schemas.grants import Family

AGENTS = text("""
SELECT a.agent, a.agent = ANY (coalesce(p.agents, ARRAY['designer'])) AS permitted, l.families AS listed,
    ledger_families(:project, a.agent) AS families
  FROM (VALUES (CAST(:project AS text))) AS asked (id)
  LEFT JOIN projects p ON p.id = asked.id
  CROSS JOIN LATERAL (
    SELECT unnest(coalesce(p.agents, ARRAY['designer'])) AS agent
    UNION SELECT agent FROM tool_lists WHERE project = asked.id
    UNION SELECT CAST(:agent AS text) WHERE CAST(:agent AS text) IS NOT NULL
  ) AS a
  LEFT JOIN tool_lists l ON l.project = asked.id AND l.agent = a.agent
  WHERE CAST(:agent AS text) IS NULL OR a.agent = :agent
  ORDER BY a.agent COLLATE "C"
""")
# One statement: the list, the new generation (calls under way will not be answered, M139) and the audit row.
SAVE_LIST = text("""
WITH before AS (SELECT families FROM tool_lists WHERE project = :project AND agent = :agent),
cleared AS (
  DELETE FROM tool_lists WHERE project = :project AND agent = :agent AND CAST(:families AS text[]) IS NULL
), listed AS (
  INSERT INTO tool_lists (project, agent, families, saved_at)
  SELECT :project, :agent, CAST(:families AS text[]), clock_timestamp() WHERE CAST(:families AS text[]) IS NOT NULL
  ON CONFLICT (project, agent) DO UPDATE SET families = excluded.families, saved_at = excluded.saved_at
), saved AS (
  INSERT INTO projects AS p (id, enabled, fetch_enabled, agents, generation, updated_at)
  VALUES (:project, false, false, ARRAY['designer'], 1, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET generation = p.generation + 1, updated_at = clock_timestamp()
  RETURNING generation, updated_at
)
INSERT INTO audit (at, actor, action, project, facts)
  SELECT saved.updated_at, :actor, 'project.agent-tools.save', :project, jsonb_build_object(
    'generation', saved.generation, 'agent', CAST(:agent AS text), 'families', CAST(:families AS text[]),
    'families_before', before.families)
  FROM saved LEFT JOIN before ON true
  RETURNING id
""")
BEGIN = text("""
INSERT INTO executions (project, run, step, agent, families, began_at)
  VALUES (:project, :run, :step, :agent, ledger_families(:project, :agent), clock_timestamp())
  ON CONFLICT (project, run, step, agent) DO UPDATE SET families = excluded.families, began_at = excluded.began_at
  RETURNING families
""")
# What was given at the beginning, less what has been taken away since: grants wait, revocations do not.
DURING = text("""
SELECT ARRAY(
    SELECT f FROM unnest(families) WITH ORDINALITY AS given (f, n)
      WHERE f = ANY (ledger_families(project, agent)) ORDER BY n
  ) AS families
  FROM executions WHERE project = :project AND run = :run AND step = :step AND agent = :agent
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What one agent has in a project.

    Shape: `permitted` is the project's own list; `listed` is the agent's own tool list by families, None when it has
    none; `families` is what comes of both with the project's switches.
    """

    name: str
    permitted: bool
    listed: tuple[Family, ...] | None
    families: tuple[Family, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One agent at one step of a run."""

    project: str
    run: str
    step: str
    agent: str


def read_agents(engine: Engine, project_id: str) -> tuple[Agent, ...]:
    """The agents that the project permits or that have a tool list of their own. Order: by name."""
    return tuple(_agent(row) for row in read(engine, AGENTS, {"project": project_id, "agent": None}))


def read_agent(engine: Engine, project_id: str, name: str) -> Agent:
    """One agent; a name that the project never heard is given nothing."""
    [row] = read(engine, AGENTS, {"project": project_id, "agent": name})
    return _agent(row)


def save_tool_list(
    engine: Engine, project_id: str, agent: str, families: tuple[Family, ...] | None, *, actor: str
) -> None:
    """The agent's own tool list; None takes it away. A save like any other: one generation on, one audit row."""
    listed = None if families is None else list(families)
    write(engine, SAVE_LIST, {"project": project_id, "agent": agent, "families": listed, "actor": actor})


def begin_execution(engine: Engine, execution: Execution) -> tuple[Family, ...]:
    """What the agent is given for this execution. Beginning a step again is a new execution with today's grants."""
    [row] = write(engine, BEGIN, _values(execution))
    return tuple(row["families"])


def read_execution(engine: Engine, execution: Execution) -> tuple[Family, ...] | None:
    """What the agent may use of what it was given; None when no such execution began."""
    rows = read(engine, DURING, _values(execution))
    return tuple(rows[0]["families"]) if rows else None


def _agent(row: RowMapping) -> Agent:
    listed = row["listed"]
    return Agent(
        name=row["agent"],
        permitted=row["permitted"],
        listed=None if listed is None else tuple(listed),
        families=tuple(row["families"]),
    )


def _values(execution: Execution) -> dict[str, str]:
    return {name: getattr(execution, name) for name in Execution.__dataclass_fields__}
