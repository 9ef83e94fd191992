"""Projects: who may use which capability (M131-M141)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, RowMapping, select, text

from broker.ledger.statements import read, write
from broker.ledger.tables import PROJECTS

LOCAL = "local"

# One statement: the settings, the new generation and the audit row are there together or not at all.
SAVE = text("""
WITH before AS (SELECT * FROM projects WHERE id = :id),
saved AS (
  INSERT INTO projects AS p (id, enabled, fetch_enabled, agents, generation, updated_at)
  SELECT :id, :enabled, :fetch_enabled, :agents, 1, clock_timestamp()
    WHERE coalesce(CAST(:generation AS bigint), 0) = 0 OR EXISTS (SELECT FROM before)
  ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, fetch_enabled = excluded.fetch_enabled,
    agents = excluded.agents, generation = p.generation + 1, updated_at = clock_timestamp()
    WHERE p.generation = coalesce(CAST(:generation AS bigint), p.generation)
  RETURNING *
), noted AS (
  INSERT INTO audit (at, actor, action, project, facts)
  SELECT saved.updated_at, :actor, 'project.web-search.save', saved.id, jsonb_build_object(
    'generation', saved.generation, 'enabled', saved.enabled, 'fetch_enabled', saved.fetch_enabled,
    'agents', saved.agents, 'enabled_before', before.enabled, 'fetch_enabled_before', before.fetch_enabled,
    'agents_before', before.agents)
  FROM saved LEFT JOIN before ON true
)
SELECT id, enabled, fetch_enabled, agents, generation, updated_at FROM saved
""")


class SettingsOvertaken(Exception):
    """Somebody saved the project since it was read; nothing was saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project's web settings.

    Shape: `generation` counts saves and is 0 for a project that was never saved; such a project has everything
    switched off and `designer` preselected (M131).
    """

    id: str
    enabled: bool = False
    fetch_enabled: bool = False
    agents: tuple[str, ...] = ("designer",)
    generation: int = 0
    updated_at: datetime | None = None


def read_project(engine: Engine, project_id: str) -> Project:
    """The project as last saved, or as a fresh one."""
    rows = read(engine, select(PROJECTS).where(PROJECTS.c.id == project_id))
    return _project(rows[0]) if rows else Project(id=project_id)


def save_project(engine: Engine, project: Project, *, actor: str, read_at: int | None = None) -> Project:
    """The project as it stands after the save, one generation on: calls under way will not be answered (M139).

    The argument's `generation` and `updated_at` are not looked at; `read_at` is the generation that the saver saw.
    Writes an audit row without content (M141). Raises: SettingsOvertaken, when it is another one by now.
    """
    values = {
        "id": project.id,
        "enabled": project.enabled,
        "fetch_enabled": project.fetch_enabled,
        "agents": list(dict.fromkeys(project.agents)),
        "actor": actor,
        "generation": read_at,
    }
    rows = write(engine, SAVE, values)
    if not rows:
        raise SettingsOvertaken
    return _project(rows[0])


def ensure_local_project(engine: Engine) -> Project:
    """The project of an embedded stack: everything on, for agent `cli`; left alone where it was saved before."""
    project = read_project(engine, LOCAL)
    if project.generation > 0:
        return project
    fresh = Project(id=LOCAL, enabled=True, fetch_enabled=True, agents=("cli",))
    return save_project(engine, fresh, actor="system")


def _project(row: RowMapping) -> Project:
    return Project(**{**row, "agents": tuple(row["agents"])})
