"""Research of a run: one search or fetch, admitted under the run's own key, once, and answered from its receipt.

The gate comes first, then the plan, which costs nothing to refuse. The run permits the admission, in the admission's
own transaction. What was done before is answered with the very value of then, and nothing is sent (M36, M43).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

from celery import Task
from pydantic import BaseModel

from broker.ledger.operations import admit
from broker.ledger.truth_records import read_record
from broker.orders import Order, read_order
from schemas.envelope import Envelope, ErrorOut, replay
from schemas.errors import OperationInProgress, OutriderError, ReplayChanged, RunQuotaExhausted, StepQuotaExhausted
from schemas.operation import Admission, Lease, Request, Running, Stored
from schemas.receipt import digest_of
from schemas.tool import Tool
from schemas.truth import Run
from schemas.truth_record import Record
from workers.attempt import Attempt, carry_out
from workers.bench import Bench, Rules
from workers.hands import hands
from workers.shift import register
from workers.telling import asks_for_progress, teller
from workers.truth.gate import open_run, require_running

A = TypeVar("A", bound=BaseModel)
P = TypeVar("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a plan is made from: the run, what it has found so far, and the rules of its road."""

    run: Run
    record: Callable[[], Record]
    rules: Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchCraft(Generic[A, P]):
    """What one kind of research needs done. Shape: `key` names what is done, within the run; `full` is its limit."""

    tool: Tool
    plan: Callable[[A, Sources], P]
    key: Callable[[A], str]
    full: type[OutriderError]
    perform: Callable[[A, P, Bench], BaseModel]


def researches(
    tool: Tool, *, plan: Callable[[A, Sources], P], key: Callable[[A], str], full: type[OutriderError]
) -> Callable[[Callable[[A, P, Bench], BaseModel]], ResearchCraft[A, P]]:
    """Make the decorated function the tool's handler and its Celery task, which is never repeated by itself (M9)."""

    def decorate(perform: Callable[[A, P, Bench], BaseModel]) -> ResearchCraft[A, P]:
        craft = ResearchCraft(tool=tool, plan=plan, key=key, full=full, perform=perform)
        register(craft, partial(_answer, craft), retries=0)
        return craft

    return decorate


def _answer(
    craft: ResearchCraft[Any, Any],
    task: Task[Any, Any],
    positional: tuple[Any, ...],
    named: dict[str, Any],
    started: float,
) -> Envelope:
    order = read_order(craft.tool, positional, named)
    run = require_running(open_run(hands().ledger, order.args.run_id, order.context))
    rules = Rules(limits=craft.tool.profile.limits, provider=hands().search)
    record = partial(read_record, hands().ledger, run.project, run.id)
    planned = craft.plan(order.args, Sources(run=run, record=record, rules=rules))
    request = _request(craft, order, run, str(task.request.id))
    admission = _admit(craft, request)
    match admission:
        case Stored():
            return _replay(craft.tool.name, admission)
        case Running():
            busy = OperationInProgress("This is being done right now.", retry_after_seconds=admission.seconds_left)
            return Envelope(
                outcome="refused", tool=craft.tool.name, operation=admission.operation_id, error=ErrorOut.of(busy)
            )
        case Lease():
            perform = partial(craft.perform, order.args, planned)
            attempt = Attempt(craft.tool, request, admission, started, perform)
            return carry_out(attempt, hands(), teller(task, asked=asks_for_progress(task)))


def _request(craft: ResearchCraft[Any, Any], order: Order, run: Run, task_id: str) -> Request:
    """The operation belongs to the run and is known by what it does, whoever's call brings it."""
    key = f"{run.id}/{craft.key(order.args)}"
    return Request(
        tool=craft.tool,
        context=order.context.model_copy(update={"run": run.id}),
        key=key,
        arguments_digest=order.digest(key),
        owner=uuid4().hex,
        task_id=task_id,
    )


def _admit(craft: ResearchCraft[Any, Any], request: Request) -> Admission:
    try:
        return admit(hands().ledger, request)
    except (RunQuotaExhausted, StepQuotaExhausted) as error:
        raise craft.full("The run has done as many as it may.", limit=error.facts.get("limit")) from None


def _replay(tool: str, stored: Stored) -> Envelope:
    if digest_of(stored.body) != stored.digest:
        raise ReplayChanged("The stored receipt is not the one that was written.", operation=stored.operation_id)
    return replay(tool, stored)
