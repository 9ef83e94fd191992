"""The shift: admit, attempt, settle. It makes the Celery task of each handler.

A call is validated and judged first, where a refusal costs nothing. Then one transaction admits it; only its lease's
holder rides out; one transaction settles it. Whoever finds the operation already there never sends: it answers from
the ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar
from uuid import uuid4

from celery import Task
from pydantic import BaseModel

from broker.app import app
from broker.ledger.operations import admit
from schemas.context import Context
from schemas.envelope import Envelope, ErrorOut, replay
from schemas.errors import Broken, Internal, LedgerUnavailable, OperationInProgress, OutriderError, Refused
from schemas.limits import Limits
from schemas.operation import Lease, Request, Running, Stored
from schemas.tool import Tool
from workers.attempt import Attempt, carry_out
from workers.bench import Bench
from workers.hands import hands
from workers.orders import Order, read_order
from workers.telling import tell_closing, teller

A = TypeVar("A", bound=BaseModel)
P = TypeVar("P")

LEDGER_RETRIES = 10  # each after LEDGER_RETRY_SECONDS: half a minute of a missing database costs a call nothing
LEDGER_RETRY_SECONDS = 3
WAIT_SLACK_SECONDS = 1  # a waiting repeat looks again once the lease it waits for is over


@dataclass(frozen=True, slots=True)
class Craft(Generic[A, P]):
    """What one tool needs done: judge its arguments before admission, perform the admitted call."""

    tool: Tool
    prepare: Callable[[A, Limits], P]
    perform: Callable[[A, P, Bench], BaseModel]


def handles(
    tool: Tool, *, prepare: Callable[[A, Limits], P]
) -> Callable[[Callable[[A, P, Bench], BaseModel]], Craft[A, P]]:
    """Make the decorated function the tool's handler and its Celery task. `prepare` sends nothing. Raises: Refused."""

    def decorate(perform: Callable[[A, P, Bench], BaseModel]) -> Craft[A, P]:
        craft = Craft(tool=tool, prepare=prepare, perform=perform)

        @app.task(name=tool.name, bind=True, max_retries=LEDGER_RETRIES)
        def task(self: Task, *positional: Any, **keywords: Any) -> dict[str, Any]:
            return serve(craft, self, positional, keywords).model_dump(mode="json")

        return craft

    return decorate


def serve(craft: Craft[Any, Any], task: Task, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Envelope:
    """The envelope of one delivery. Raises: celery's Retry while another delivery runs, or the ledger is away."""
    started = monotonic()
    try:
        envelope = _answer(craft, task, positional, keywords, started)
    except Refused as error:
        envelope = refusal(craft.tool.name, error)
    except LedgerUnavailable as error:
        if task.request.retries < LEDGER_RETRIES:
            raise task.retry(countdown=LEDGER_RETRY_SECONDS) from None
        envelope = refusal(craft.tool.name, error)
    tell_closing(envelope, task.request.id, started)
    return envelope


def refusal(tool: str, error: OutriderError) -> Envelope:
    """The answer where nothing left the machine."""
    return Envelope(outcome="refused", tool=tool, error=ErrorOut.of(error))


def _answer(
    craft: Craft[Any, Any], task: Task, positional: tuple[Any, ...], keywords: dict[str, Any], started: float
) -> Envelope:
    order = read_order(craft.tool, positional, keywords)
    prepared = _prepare(craft, order)
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
            return carry_out(attempt, hands(), teller(task))


def _prepare(craft: Craft[Any, Any], order: Order) -> Any:
    try:
        return craft.prepare(order.args, craft.tool.profile.limits)
    except (Refused, Broken):
        raise
    except Exception as error:
        raise Internal("A fault of ours while the arguments were judged.", kind=type(error).__name__) from error


def _request(tool: Tool, order: Order, task: Task) -> Request:
    context: Context = order.context
    key = context.call or task.request.id
    return Request(
        tool=tool,
        context=context,
        key=key,
        arguments_digest=order.digest(key),
        owner=uuid4().hex,
        task_id=task.request.id,
    )


def _wait_for(running: Running, tool: str, task: Task) -> Envelope:
    """A repeat of the very task that runs looks again when its lease is over; any other repeat is told at once."""
    if running.task_id == task.request.id:
        raise task.retry(countdown=min(45.0, running.seconds_left + WAIT_SLACK_SECONDS), max_retries=None)
    error = OperationInProgress("This call is being carried out right now.", retry_after_seconds=running.seconds_left)
    return Envelope(outcome="refused", tool=tool, operation=running.operation_id, error=ErrorOut.of(error))
