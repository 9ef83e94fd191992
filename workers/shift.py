"""The shift: admit, attempt, settle. It makes the Celery task of each handler.

A call is validated and judged first, where a refusal costs nothing. Then one transaction admits it; only its lease's
holder rides out; one transaction settles it. Whoever finds the operation already there never sends: it answers from
the ledger. A message brings the arguments themselves, or the id of a call that was accepted before (`opening`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar
from uuid import uuid4

import structlog
from celery import Task
from celery.exceptions import Ignore, TaskPredicate
from pydantic import BaseModel

from broker.app import app
from broker.ledger.operations import admit
from broker.ledger.refusals import note_refusal
from broker.logs import where
from broker.orders import Order, asker, read_order
from schemas.context import Context
from schemas.envelope import Envelope, ErrorOut, replay
from schemas.errors import Internal, LedgerUnavailable, OperationInProgress, OutriderError
from schemas.operation import Lease, Request, Running, Stored
from schemas.tool import Tool
from workers import door
from workers.attempt import Attempt, carry_out
from workers.bench import Bench, Rules
from workers.hands import hands
from workers.opening import PART, answer_known, open_call, read_opening, turn_away
from workers.telling import asks_for_progress, tell_closing, teller

_log = structlog.get_logger(__name__)

A = TypeVar("A", bound=BaseModel)
P = TypeVar("P")

LEDGER_RETRIES = 10  # each after LEDGER_RETRY_SECONDS: half a minute of a missing database costs a call nothing
LEDGER_RETRY_SECONDS = 3
WAIT_SLACK_SECONDS = 1  # a waiting repeat looks again once the lease it waits for is over


Answer = Callable[[Task[Any, Any], tuple[Any, ...], dict[str, Any], float], Envelope]


class Served(Protocol):
    """Whatever a tool is carried out by."""

    @property
    def tool(self) -> Tool:
        """The tool's contract."""


@dataclass(frozen=True, slots=True)
class Craft(Generic[A, P]):
    """What one tool needs done: judge its arguments before admission, perform the admitted call."""

    tool: Tool
    prepare: Callable[[A, Rules], P]
    perform: Callable[[A, P, Bench], BaseModel]


def handles(
    tool: Tool, *, prepare: Callable[[A, Rules], P]
) -> Callable[[Callable[[A, P, Bench], BaseModel]], Craft[A, P]]:
    """Make the decorated function the tool's handler and its Celery task. `prepare` sends nothing. Raises: Refused."""

    def decorate(perform: Callable[[A, P, Bench], BaseModel]) -> Craft[A, P]:
        craft = Craft(tool=tool, prepare=prepare, perform=perform)
        register(craft, partial(_answer, craft), retries=LEDGER_RETRIES)
        return craft

    return decorate


def register(craft: Served, answer: Answer, *, retries: int) -> None:
    """Make the Celery task of a craft: its deliveries are served by `answer`."""

    @app.task(name=craft.tool.name, bind=True, max_retries=retries)
    def task(self: Task[Any, Any], *positional: Any, **keywords: Any) -> dict[str, Any]:
        return serve(craft, self, positional, keywords, answer).model_dump(mode="json")


def serve(
    craft: Served,
    task: Task[Any, Any],
    positional: tuple[Any, ...],
    named: dict[str, Any],
    answer: Answer,
) -> Envelope:
    """The envelope of one delivery. Raises: celery's Retry for one put off, Ignore for a copy, Reject when leaving."""
    door.pass_through()
    started = monotonic()
    try:
        envelope = answer(task, positional, named, started)
    except LedgerUnavailable as error:
        if task.request.retries < (task.max_retries or 0):
            raise task.retry(countdown=LEDGER_RETRY_SECONDS) from None
        envelope = refusal(craft.tool.name, error)
    except OutriderError as error:
        envelope = refusal(craft.tool.name, error)
        _note(craft.tool, named)
    except TaskPredicate:
        raise
    except Exception as error:  # noqa: BLE001 - the last wall: an exception's text may hold what was being handled
        envelope = _broke(craft.tool.name, error)
    tell_closing(envelope, _id(task), started)
    return envelope


def _broke(tool: str, error: Exception) -> Envelope:
    kind, place = type(error).__name__, where(error.__traceback__)
    _log.error("shift_broke", tool=tool, exception=kind, at=place)
    fault = Internal("A fault of ours; the worker's log names the place.", kind=kind)
    return Envelope(outcome="failed", tool=tool, error=ErrorOut.of(fault))


def refusal(tool: str, error: OutriderError) -> Envelope:
    """The answer where nothing left the machine."""
    return Envelope(outcome="refused", tool=tool, error=ErrorOut.of(error))


def _note(tool: Tool, named: dict[str, Any]) -> None:
    """Count a call that left no operation, for its agent's summary (M152). An accepted call has left one.

    What a truth run's session or an orchestrator asks is none of an agent's searches and fetches.
    """
    if tool.kept_by == "call" and (context := asker(named)) is not None:
        note_refusal(hands().ledger, context, tool.profile.family)


def _answer(
    craft: Craft[Any, Any], task: Task[Any, Any], positional: tuple[Any, ...], named: dict[str, Any], started: float
) -> Envelope:
    if not positional and set(named) == {PART}:
        return _answer_accepted(craft, task, named[PART], started)
    order = read_order(craft.tool, positional, named)
    prepared = craft.prepare(order.args, _rules(craft.tool))
    request = _request(craft.tool, order, task)
    admission = admit(hands().ledger, request)
    match admission:
        case Stored():
            return replay(craft.tool.name, admission)
        case Running():
            return _wait_for(admission, craft.tool.name, task)
        case Lease():
            attempt = Attempt(
                craft.tool, request, admission, started, lambda bench: craft.perform(order.args, prepared, bench)
            )
            return carry_out(attempt, hands(), teller(task, asked=asks_for_progress(task)))


def _answer_accepted(craft: Craft[Any, Any], task: Task[Any, Any], operation_id: object, started: float) -> Envelope:
    """The envelope of a call that the ledger accepted before. Raises: Ignore while the ledger is away: it is swept."""
    try:
        opening = open_call(craft.tool, task, operation_id)
        if isinstance(opening, Envelope):
            return opening
        try:
            order, progress = read_opening(opening)
            prepared = craft.prepare(order.args, _rules(craft.tool))
            request = _request(craft.tool, order, task)
            admission = admit(hands().ledger, request)
        except LedgerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - the call must end, whatever hinders it
            return turn_away(opening, error)
    except LedgerUnavailable:
        _log.warning("delivery_dropped", tool=craft.tool.name, task=_id(task), reason="the ledger does not answer")
        raise Ignore from None
    if not isinstance(admission, Lease):
        return answer_known(craft.tool, admission)
    attempt = Attempt(craft.tool, request, admission, started, lambda bench: craft.perform(order.args, prepared, bench))
    return carry_out(attempt, hands(), teller(task, asked=progress))


def _rules(tool: Tool) -> Rules:
    return Rules(limits=tool.profile.limits, provider=hands().search)


def _request(tool: Tool, order: Order, task: Task[Any, Any]) -> Request:
    context: Context = order.context
    key = context.call or _id(task)
    return Request(
        tool=tool,
        context=context,
        key=key,
        arguments_digest=order.digest(key),
        owner=uuid4().hex,
        task_id=_id(task),
    )


def _wait_for(running: Running, tool: str, task: Task[Any, Any]) -> Envelope:
    """A repeat of the very task that runs looks again when its lease is over; any other repeat is told at once."""
    if running.task_id == _id(task):
        raise task.retry(countdown=min(45.0, running.seconds_left + WAIT_SLACK_SECONDS), max_retries=None)
    error = OperationInProgress("This call is being carried out right now.", retry_after_seconds=running.seconds_left)
    return Envelope(outcome="refused", tool=tool, operation=running.operation_id, error=ErrorOut.of(error))


def _id(task: Task[Any, Any]) -> str:
    return str(task.request.id)
