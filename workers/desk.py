"""The desk: tools that ask the ledger alone. Nothing is admitted for them, and nothing leaves the machine.

Their tasks are never repeated by themselves: a ledger that is away is told at once, and whoever asked asks again (M9).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from celery import Task
from pydantic import BaseModel

from broker.ledger.engine import Ledger
from broker.orders import read_order
from schemas.context import Context
from schemas.envelope import Envelope, receipt_out
from schemas.operation import Stored
from schemas.tool import Tool
from workers.hands import hands
from workers.shift import register

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a desk's tool may know and touch: who asks, under which call, and the ledger.

    Shape: `arguments_digest` binds the call to its arguments, as an operation's does.
    """

    context: Context
    call: str
    task_id: str
    arguments_digest: str
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Said:
    """A tool's answer; `replayed` where it was given before, `stored` where it has a receipt."""

    value: BaseModel
    replayed: bool = False
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class DeskCraft(Generic[A]):
    """What one tool answers with."""

    tool: Tool
    perform: Callable[[A, Desk], Said]


def answers(tool: Tool) -> Callable[[Callable[[A, Desk], Said]], DeskCraft[A]]:
    """Make the decorated function the tool's handler and its Celery task."""

    def decorate(perform: Callable[[A, Desk], Said]) -> DeskCraft[A]:
        craft = DeskCraft(tool=tool, perform=perform)
        register(craft, partial(_answer, craft), retries=0)
        return craft

    return decorate


def _answer(
    craft: DeskCraft[Any], task: Task[Any, Any], positional: tuple[Any, ...], named: dict[str, Any], started: float
) -> Envelope:
    del started
    order = read_order(craft.tool, positional, named)
    task_id = str(task.request.id)
    call = order.context.call or task_id
    digest = order.digest(call)
    desk = Desk(context=order.context, call=call, task_id=task_id, arguments_digest=digest, ledger=hands().ledger)
    said = craft.perform(order.args, desk)
    return Envelope(
        outcome="completed",
        tool=craft.tool.name,
        operation=None if said.stored is None else said.stored.operation_id,
        value=said.value.model_dump(mode="json"),
        replayed=said.replayed,
        receipt=None if said.stored is None else receipt_out(said.stored),
    )
