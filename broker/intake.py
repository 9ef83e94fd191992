"""The desk of our own clients: send a call, wait for its envelope, take it back.

With a ledger and a key of the deployment, a call is accepted before anything is posted (`broker.outbox`): it will end,
and the messages carry no arguments. Without them it is sent as any orchestrator's. The reply is forgotten as soon as
it was read. Where the result store lost it, the ledger still says how the call ended, and the envelope is made from
its receipt.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from celery.exceptions import TaskRevokedError
from celery.exceptions import TimeoutError as ReplyTimeout
from celery.result import AsyncResult

from broker.app import app
from broker.ledger.engine import Ledger
from broker.ledger.operations import find_ended
from broker.ledger.outbox import end_accepted
from broker.ledger.refusals import note_refusal
from broker.orders import asker, read_order
from broker.outbox import AWAY, accept_order, post, post_due
from broker.settings import settings
from schemas.envelope import Envelope, ErrorOut, Outcome, replay
from schemas.errors import (
    Cancelled,
    Internal,
    LedgerUnavailable,
    OperationInProgress,
    OutcomeUnknown,
    OutriderError,
)
from schemas.operation import Accepted, OperationState, Post, Stored
from schemas.tools import catalogue

Progress = Callable[[str, dict[str, Any]], None]

LOOK_SECONDS = 5.0  # how often a waiting client asks the ledger whether the reply was lost on its way
GRACE_SECONDS = 5.0  # how long an ended call's reply may still be under way
LOOK_PATIENCE_SECONDS = 2.0  # a look at a ledger that is away; the next one comes soon
BREATH_SECONDS = 1.0  # between looks at a result store that is away


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """One call that was sent. `key` is what the ledger knows it by, within its project.

    `listening` holds the subscription that began before the message left: Celery ends it with the object, and what a
    worker tells until somebody waits would be lost. Shape: `operation` is the id of a call that the ledger accepted;
    `answer` is the envelope where there is nothing to wait for.
    """

    tool: str
    project: str
    task_id: str
    key: str
    listening: "AsyncResult[Any] | None" = field(default=None, repr=False, compare=False)
    operation: str | None = None
    answer: Envelope | None = None


def submit(
    tool: str,
    arguments: dict[str, Any],
    context: dict[str, Any],
    *,
    progress: bool = False,
    ledger: Ledger | None = None,
) -> Handle:
    """Send one call to the fleet. With `progress`, its worker tells what it is doing.

    Accepted by the ledger first where one is given, a key is known and the tool's operations are kept by the call; a
    bad call is then answered at once and nothing of it is stored. Raises: the broker's errors, of a call that was not
    accepted first.
    """
    task_id = uuid4().hex
    key = str(context.get("call") or task_id)
    handle = Handle(tool=tool, project=str(context.get("project", "")), task_id=task_id, key=key)
    keys = settings().seal_keys()
    if ledger is not None and keys and tool in catalogue() and catalogue()[tool].kept_by == "call":
        return _accept(handle, ledger, {"arguments": arguments, "context": context}, progress=progress)
    sent = app.send_task(
        tool,
        kwargs={"arguments": arguments, "context": context},
        task_id=task_id,
        headers={"outrider_progress": True} if progress else None,
    )
    return replace(handle, listening=sent if progress else None)


def await_reply(
    handle: Handle, *, timeout_seconds: float, ledger: Ledger | None = None, on_progress: Progress | None = None
) -> dict[str, Any]:
    """The call's envelope. With a ledger, a lost reply is answered from the receipt, a late one as unknown.

    An accepted call that nobody has begun when the time is over is taken back. Raises: LedgerUnavailable.
    """
    if handle.answer is not None:
        return _dump(handle.answer)
    result = handle.listening or app.AsyncResult(handle.task_id)
    try:
        if (value := _listen(handle, result, monotonic() + timeout_seconds, ledger, on_progress)) is not None:
            return value
    except TaskRevokedError:
        return _dump(_revoked(handle, ledger))
    except LedgerUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a task raised is told by its kind
        return _dump(_error(handle, "failed", Internal("The fleet could not answer.", kind=type(error).__name__)))
    finally:
        with suppress(*AWAY, RuntimeError):  # Celery says RuntimeError of a result store that stays away
            result.forget()
    late = OutcomeUnknown("No answer came in time.", waited_seconds=timeout_seconds)
    taken = None
    with suppress(LedgerUnavailable):
        taken = take_back(handle, ledger)
    return _dump(taken or _error(handle, "unknown", late, operation=handle.operation))


def cancel(handle: Handle, ledger: Ledger | None = None) -> dict[str, Any] | None:
    """Take the call back: a waiting one is dropped, a running one's connection is destroyed within a second.

    Gives the envelope of an accepted call that nobody had begun; nothing is to be waited for then. Raises: the
    broker's errors, LedgerUnavailable.
    """
    if (taken := take_back(handle, ledger)) is not None:
        return _dump(taken)
    app.control.broadcast("cancel_call", arguments={"task_id": handle.task_id})
    return None


def take_back(handle: Handle, ledger: Ledger | None) -> Envelope | None:
    """The envelope of an accepted call that was not begun and now never is; None for any other.

    Raises: LedgerUnavailable.
    """
    if ledger is None or handle.operation is None:
        return None
    error = Cancelled("The call was cancelled before it began.")
    ended = end_accepted(ledger, handle.operation, OperationState.CANCELLED, error)
    if isinstance(ended, Stored) and ended.state in {OperationState.CANCELLED, OperationState.REFUSED}:
        return replay(handle.tool, ended).model_copy(update={"replayed": False})
    return None


def _accept(handle: Handle, ledger: Ledger, asked: dict[str, Any], *, progress: bool) -> Handle:
    """The handle of a call that is accepted and, if the broker is there, posted; or answered already."""
    try:
        order = read_order(catalogue()[handle.tool], (), asked)
        whole = asked | {"progress": progress}
        found = accept_order(ledger, settings().seal_keys(), order, handle.task_id, whole)
    except LedgerUnavailable:
        lost = OutcomeUnknown("The ledger did not answer: whether the call was accepted is not known.")
        return replace(handle, answer=_error(handle, "unknown", lost))
    except OutriderError as error:
        if (context := asker(asked)) is not None:
            note_refusal(ledger, context, catalogue()[handle.tool].profile.family)
        return replace(handle, answer=_error(handle, "refused", error))
    if isinstance(found, Stored):
        return replace(handle, answer=replay(handle.tool, found))
    if not isinstance(found, Accepted):
        busy = OperationInProgress("This call is being carried out right now.", retry_after_seconds=found.seconds_left)
        return replace(handle, answer=_error(handle, "refused", busy, operation=found.operation_id))
    sent = post(Post(operation_id=found.operation_id, tool=handle.tool, task_id=handle.task_id))
    return replace(handle, operation=found.operation_id, listening=sent if progress else None)


def _listen(
    handle: Handle, result: Any, until: float, ledger: Ledger | None, on_progress: Progress | None
) -> dict[str, Any] | None:
    """The envelope, from the result store or, when no reply comes, from the ledger; None when the time is over."""
    ended_at: float | None = None
    while (left := until - monotonic()) > 0:
        try:
            value = result.get(timeout=min(left, LOOK_SECONDS), on_message=_told(handle, on_progress))
        except ReplyTimeout:
            pause = 0.0
        except AWAY:
            if handle.operation is None:
                raise
            pause = BREATH_SECONDS
        else:
            return dict(value)
        stored = _look(handle, ledger)
        if stored is not None and _no_reply_comes(stored, ended_at):
            return _dump(replay(handle.tool, stored))
        ended_at = monotonic() if stored is not None and ended_at is None else ended_at
        sleep(min(pause, max(0.0, until - monotonic())))
    return None


def _look(handle: Handle, ledger: Ledger | None) -> Stored | None:
    """How the ledger says that the call ended. One that waits with a lost message is posted again."""
    if ledger is None:
        return None
    try:
        stored = find_ended(ledger, handle.project, handle.key, patience_seconds=LOOK_PATIENCE_SECONDS)
        if stored is None and handle.operation is not None:
            post_due(ledger, operation_id=handle.operation)
    except LedgerUnavailable:
        if handle.operation is None:
            raise
        return None
    return stored


def _no_reply_comes(stored: Stored, ended_at: float | None) -> bool:
    """Whether an ended call's reply is not under way: nobody sends one for a call that no worker has begun."""
    if stored.state is OperationState.REFUSED:
        return True
    return ended_at is not None and monotonic() - ended_at >= GRACE_SECONDS


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
    if (taken := take_back(handle, ledger)) is not None:
        return taken
    stored = None if ledger is None else find_ended(ledger, handle.project, handle.key)
    if stored is not None:
        return replay(handle.tool, stored)
    return _error(handle, "cancelled", Cancelled("The call was cancelled before it began."))


def _error(handle: Handle, outcome: Outcome, error: OutriderError, *, operation: str | None = None) -> Envelope:
    return Envelope(outcome=outcome, tool=handle.tool, operation=operation, error=ErrorOut.of(error))


def _dump(envelope: Envelope) -> dict[str, Any]:
    return envelope.model_dump(mode="json")
