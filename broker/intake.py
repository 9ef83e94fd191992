"""The desk of our own clients: send a call, wait for its envelope, take it back.

The reply is forgotten as soon as it was read. Where the result store lost it, the ledger still says how the call
ended, and the envelope is made from its receipt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from uuid import uuid4

from celery.exceptions import TaskRevokedError
from celery.exceptions import TimeoutError as ReplyTimeout
from celery.result import AsyncResult

from broker.app import app
from broker.ledger.engine import Ledger
from broker.ledger.operations import find_ended
from schemas.envelope import Envelope, ErrorOut, replay
from schemas.errors import Cancelled, Internal, OutcomeUnknown, OutriderError

Progress = Callable[[str, dict[str, Any]], None]

LOOK_SECONDS = 5.0  # how often a waiting client asks the ledger whether the reply was lost on its way
GRACE_SECONDS = 5.0  # how long an ended call's reply may still be under way


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """One call that was sent. `key` is what the ledger knows it by, within its project.

    `listening` holds the subscription that began before the message left: Celery ends it with the object, and what a
    worker tells until somebody waits would be lost.
    """

    tool: str
    project: str
    task_id: str
    key: str
    listening: "AsyncResult[Any] | None" = field(default=None, repr=False, compare=False)


def submit(tool: str, arguments: dict[str, Any], context: dict[str, Any], *, progress: bool = False) -> Handle:
    """Send one call to the fleet. With `progress`, its worker tells what it is doing. Raises: the broker's errors."""
    task_id = uuid4().hex
    sent = app.send_task(
        tool,
        kwargs={"arguments": arguments, "context": context},
        task_id=task_id,
        headers={"outrider_progress": True} if progress else None,
    )
    key = str(context.get("call") or task_id)
    project = str(context.get("project", ""))
    return Handle(tool=tool, project=project, task_id=task_id, key=key, listening=sent if progress else None)


def await_reply(
    handle: Handle, *, timeout_seconds: float, ledger: Ledger | None = None, on_progress: Progress | None = None
) -> dict[str, Any]:
    """The call's envelope. With a ledger, a lost reply is answered from the receipt, a late one as unknown."""
    result = handle.listening or app.AsyncResult(handle.task_id)
    until = monotonic() + timeout_seconds
    ended_at: float | None = None
    while (left := until - monotonic()) > 0:
        try:
            value = result.get(timeout=min(left, LOOK_SECONDS), on_message=_told(handle, on_progress))
        except ReplyTimeout:
            stored = None if ledger is None else find_ended(ledger, handle.project, handle.key)
            if stored is not None and ended_at is not None and monotonic() - ended_at >= GRACE_SECONDS:
                return _dump(replay(handle.tool, stored))
            ended_at = monotonic() if stored is not None and ended_at is None else ended_at
        except TaskRevokedError:
            result.forget()
            return _dump(_revoked(handle, ledger))
        except Exception as error:  # noqa: BLE001 - whatever a task raised is told by its kind
            return _dump(_error(handle, "failed", Internal("The fleet could not answer.", kind=type(error).__name__)))
        else:
            result.forget()
            return dict(value)
    return _dump(_error(handle, "unknown", OutcomeUnknown("No answer came in time.", waited_seconds=timeout_seconds)))


def cancel(handle: Handle) -> None:
    """Take the call back: a waiting one is dropped, a running one's connection is destroyed within a second."""
    app.control.broadcast("cancel_call", arguments={"task_id": handle.task_id})


def _told(handle: Handle, on_progress: Progress | None) -> Callable[[dict[str, Any]], None] | None:
    if on_progress is None:
        return None

    def hear(meta: dict[str, Any]) -> None:
        if meta.get("status") == "PROGRESS" and meta.get("task_id") == handle.task_id:
            facts = dict(meta.get("result") or {})
            on_progress(str(facts.pop("stage", "")), facts)

    return hear


def _revoked(handle: Handle, ledger: Ledger | None) -> Envelope:
    """What a dropped message means: the call never began, unless it was delivered before and the ledger knows more."""
    stored = None if ledger is None else find_ended(ledger, handle.project, handle.key)
    if stored is not None:
        return replay(handle.tool, stored)
    return _error(handle, "cancelled", Cancelled("The call was cancelled before it began."))


def _error(handle: Handle, outcome: str, error: OutriderError) -> Envelope:
    return Envelope.model_validate({"outcome": outcome, "tool": handle.tool, "error": ErrorOut.of(error)})


def _dump(envelope: Envelope) -> dict[str, Any]:
    return envelope.model_dump(mode="json")
