"""Denials: admissions that a budget refused. They leave no operation behind, so they are counted on their own."""

from contextlib import suppress

from sqlalchemy import Engine, text

from broker.ledger.statements import write
from schemas.errors import Cooldown, LedgerUnavailable, ProjectBusy, RunQuotaExhausted, StepQuotaExhausted
from schemas.operation import Request

BUDGETS = (StepQuotaExhausted, RunQuotaExhausted, ProjectBusy, Cooldown)

DENY = text("SELECT ledger_deny(:project, :family, :code)")


def note_denial(engine: Engine, request: Request, code: str) -> None:
    """Count one. A ledger that is away at this moment loses the count, and the caller still hears the refusal."""
    values = {"project": request.context.project, "family": request.tool.profile.family, "code": code}
    with suppress(LedgerUnavailable):
        write(engine, DENY, values)
