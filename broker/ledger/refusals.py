"""Refusals: how many calls an agent made that were turned away before any reservation, and left no operation."""

import structlog
from sqlalchemy import Engine, text

from broker.ledger.statements import write
from schemas.context import Context
from schemas.errors import LedgerUnavailable

NOTE = text("SELECT ledger_note_refusal(:project, :run, :step, :agent, :family)")

_log = structlog.get_logger(__name__)


def note_refusal(engine: Engine, context: Context, family: str) -> None:
    """Count one. It is a statistic and no promise: a ledger that is away costs the count and never the reply."""
    asker = {"project": context.project, "run": context.run, "step": context.step, "agent": context.agent}
    try:
        write(engine, NOTE, asker | {"family": family})
    except LedgerUnavailable:
        _log.warning("refusal_not_counted")
