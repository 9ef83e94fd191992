"""The audit trail: who changed a project's settings, and when; never what was searched or fetched."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from broker.ledger.statements import read
from broker.ledger.tables import AUDIT


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change. Shape: `facts` are the settings before and after."""

    at: datetime
    actor: str
    action: str
    project: str
    facts: dict[str, Any]


def read_audit(engine: Engine, project_id: str, *, limit: int = 100) -> tuple[AuditEntry, ...]:
    """The latest changes of a project. Order: newest first."""
    query = (
        select(AUDIT.c.at, AUDIT.c.actor, AUDIT.c.action, AUDIT.c.project, AUDIT.c.facts)
        .where(AUDIT.c.project == project_id)
        .order_by(AUDIT.c.id.desc())
        .limit(limit)
    )
    return tuple(AuditEntry(**row) for row in read(engine, query))
