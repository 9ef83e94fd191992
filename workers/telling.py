"""What a worker tells while it works: progress to the one who asked for it, one closing log line per call."""

from time import monotonic
from typing import Any

import structlog
from celery import Task

from schemas.envelope import Envelope
from workers.bench import Progress

PROGRESS = "PROGRESS"  # the Celery state that carries it
_log = structlog.get_logger(__name__)


def teller(task: Task[Any, Any]) -> Progress:
    """A function that passes progress on, to the result store if the message asked for it, else nowhere.

    The message asks with the header `outrider_progress`; each word costs a write, so nobody else pays for it.
    """
    if not getattr(task.request, "outrider_progress", None):
        return _silent

    def tell(stage: str, facts: dict[str, int | str]) -> None:
        task.update_state(state=PROGRESS, meta={"stage": stage, **facts})

    return tell


def _silent(stage: str, facts: dict[str, int | str]) -> None:
    del stage, facts


def tell_closing(envelope: Envelope, task_id: str, started: float) -> None:
    """The one log line of a call."""
    _log.info(
        "call_closed",
        tool=envelope.tool,
        task=task_id,
        operation=envelope.operation,
        outcome=envelope.outcome,
        code=None if envelope.error is None else envelope.error.code,
        sent=None if envelope.receipt is None else envelope.receipt.sent,
        replayed=envelope.replayed,
        milliseconds=round((monotonic() - started) * 1000, 1),
    )
