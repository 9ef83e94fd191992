"""The outbox: calls of our own clients, from their acceptance to their admission or their end without one.

An accepted call ends: it is admitted, refused, taken back, or its time is over. What becomes of its message does not
matter, for the message is posted again as long as the call is accepted. The law is in broker/migrations/functions.
"""

from typing import Any

import rfc8785
from sqlalchemy import Engine, text

from broker.ledger.calls import call
from broker.ledger.operations import COLUMNS, KEY_CHARS, named, stored_of
from broker.ledger.statements import write
from schemas.context import Context
from schemas.errors import InvalidArguments, OutriderError
from schemas.operation import Accepted, Binding, OperationState, Post, Request, Running, Sealed, Stored

ACCEPT_SECONDS = 600.0  # ten minutes without a worker: the caller has given up long ago
POST_SECONDS = 10.0  # a message that was not admitted for so long may be lost: an idle worker takes milliseconds
LONGEST_POST_SECONDS = 60.0  # copies in a long queue come at most once a minute

ACCEPT = f"SELECT {COLUMNS} FROM ledger_accept(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 - constants
END = f"SELECT {COLUMNS} FROM ledger_end_accepted(%s, %s, %s, %s, %s)"  # noqa: S608 - constants
_OPENED = "project, key, agent, run, step, arguments_digest, waited_seconds, sealed"
OPEN = f"SELECT {', '.join(f'(answer).{name}' for name in COLUMNS.split(', '))}, {_OPENED} FROM ledger_open(%s, %s, %s)"  # noqa: S608 - constants
POSTPONE = "SELECT ledger_postpone(%s, %s)"
EXPIRE = "SELECT ledger_expire_accepted(%s)"
CLAIM = text(
    "SELECT operation_id::text, tool, task_id FROM ledger_claim_posts(CAST(:id AS uuid), :limit, :shortest, :longest)"
)


def accept(
    engine: Engine, operation_id: str, request: Request, sealed: bytes, *, patience_seconds: float = 10.0
) -> Accepted | Stored | Running:
    """The call, durably accepted; or how it ended, or that it is under way, where the ledger knew it.

    A repeat with the same id is the same acceptance. Raises: CallConflict, InvalidArguments; LedgerUnavailable: the
    call may be accepted, and ends then.
    """
    if max(len(request.key), len(request.task_id)) > KEY_CHARS:
        raise InvalidArguments("The call's id is too long.", field="call", limit=KEY_CHARS)
    context = request.context
    values = (
        operation_id,
        context.project,
        request.key,
        request.tool.name,
        request.tool.profile.family,
        context.agent,
        context.run,
        context.step,
        request.arguments_digest,
        request.task_id,
        sealed,
        ACCEPT_SECONDS,
        POST_SECONDS,
    )
    answer = named(call(engine, ACCEPT, values, patience_seconds=patience_seconds))
    if answer["verdict"] == "accepted" and answer["operation_id"] == operation_id:
        return Accepted(operation_id=operation_id, task_id=request.task_id)
    return _known(answer)


def open_accepted(
    engine: Engine, operation_id: str, tool: str, task_id: str, *, patience_seconds: float = 10.0
) -> Sealed | Stored | Running | None:
    """The accepted call of that id, for the task that carries it; None where there is none. Reserves nothing.

    Raises: LedgerUnavailable.
    """
    row = call(engine, OPEN, (operation_id, tool, task_id), patience_seconds=patience_seconds)
    count = len(COLUMNS.split(", "))
    answer = named(row[:count])
    if answer["verdict"] == "absent":
        return None
    if answer["verdict"] != "accepted":
        return _known(answer)
    *words, waited_seconds, sealed = row[count:]
    names = ("project", "key", "agent", "run", "step", "arguments_digest")
    binding = Binding(operation_id=operation_id, tool=tool, **dict(zip(names, words, strict=True)))
    return Sealed(operation_id=operation_id, binding=binding, waited_seconds=waited_seconds, sealed=bytes(sealed))


def end_accepted(
    engine: Engine, operation_id: str, state: OperationState, error: OutriderError, *, patience_seconds: float = 10.0
) -> Stored | Running | None:
    """What is stored for the call afterwards: this end, or the one that was there first; Running when it was admitted.

    Shape: `state` is refused or cancelled; None stands for an id that the ledger does not know. Raises:
    LedgerUnavailable.
    """
    values = (operation_id, state.value, error.code, error.message, rfc8785.dumps(error.facts).decode())
    answer = named(call(engine, END, values, patience_seconds=patience_seconds))
    return None if answer["verdict"] == "absent" else _known(answer)


def postpone(engine: Engine, operation_id: str, seconds: float, *, patience_seconds: float = 10.0) -> bool:
    """Whether the call is still accepted; the sweeper leaves it alone for so long. Raises: LedgerUnavailable."""
    row = call(engine, POSTPONE, (operation_id, seconds), patience_seconds=patience_seconds)
    return bool(row[0])


def claim_posts(engine: Engine, *, operation_id: str | None = None, limit: int = 500) -> tuple[Post, ...]:
    """The messages that are due to be posted again: of one call, or of all. Their next turn is written before.

    Order: oldest call first. Raises: LedgerUnavailable.
    """
    values = {"id": operation_id, "limit": limit, "shortest": POST_SECONDS, "longest": LONGEST_POST_SECONDS}
    return tuple(Post(**row) for row in write(engine, CLAIM, values))


def expire_accepted(engine: Engine, limit: int = 500, *, patience_seconds: float = 10.0) -> int:
    """How many calls ended refused because nobody admitted them in time. Raises: LedgerUnavailable."""
    return int(call(engine, EXPIRE, (limit,), patience_seconds=patience_seconds)[0])


def binding_of(operation_id: str, request: Request) -> Binding:
    """What the request of this call is sealed with."""
    context: Context = request.context
    return Binding(
        operation_id=operation_id,
        project=context.project,
        key=request.key,
        tool=request.tool.name,
        agent=context.agent,
        run=context.run,
        step=context.step,
        arguments_digest=request.arguments_digest,
    )


def _known(answer: dict[str, Any]) -> Stored | Running:
    if answer["verdict"] == "stored":
        return stored_of(answer)
    return Running(operation_id=answer["operation_id"], task_id=answer["task_id"], seconds_left=answer["seconds_left"])
