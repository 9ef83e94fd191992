"""What a worker tells while it works: progress to the one who asked for it, one closing log line per call."""

from time import monotonic
from typing import Any

import structlog
from celery import Task

from schemas.envelope import Envelope
from workers.bench import Progress

PROGRESS = "PROGRESS"  # the Celery state that carries it
_log = structlog.get_logger(__name__)


def asks_for_progress(task: Task[Any, Any]) -> bool:
    """Whether a message that brings its own arguments asks for progress, with the header `outrider_progress`."""
    return bool(getattr(task.request, "outrider_progress", None))


def teller(task: Task[Any, Any], *, asked: bool) -> Progress:
    """A function that passes progress on to the result store if it was asked for: each word is a write there."""
    if not asked:
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
