"""Operations and leases: one call as admitted, and one worker's expiring right to perform it.

States: `accepted` is written by `accept` for a call of our own clients, and moved on by whoever is first: `pending` by
a worker (admit), `refused` by a worker whose admission is refused or by whoever finds its time over, `cancelled` by
its client. `pending` is written by `admit` and moved on exactly once, by whoever is first: `completed`, `failed` and
`cancelled` by the lease's holder (settle); `outcome_unknown` by any reader or by the finalization task once the lease
is over. The terminal states are sinks.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from schemas.context import Context
from schemas.tool import Tool


class OperationState(StrEnum):
    """Where an operation stands."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One delivery of one call, ready to be admitted.

    Shape: `key` is context.call or the task's id, unique within the project. `arguments_digest` is the lower-case hex
    SHA-256 that binds key, tool and canonical arguments: the same key with another digest is a conflict. `owner` is
    the delivery's own random token: admitting twice with the same owner is one admission. `task_id` is the Celery
    task that carries the call.
    """

    tool: Tool
    context: Context
    key: str
    arguments_digest: str
    owner: str
    task_id: str


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """Reservations left for the step and the run at admission."""

    step: int
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to perform one operation, until the database's clock says `until`. Only admit makes one.

    Unit: `seconds_left` as the database counted it in the statement that granted the lease. `generation` is the
    project's settings at admission; settle compares it.
    """

    operation_id: str
    owner: str
    generation: int
    admitted_at: datetime
    until: datetime
    seconds_left: float
    budget: BudgetLeft


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the ledger keeps of an operation that has ended: the answer to every repeat.

    Shape: `body` is the receipt's canonical JSON, byte for byte as it was written; `digest` its RFC 9530 form.
    """

    operation_id: str
    state: OperationState
    code: str | None
    sent: str
    body: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The same call is pending under a live lease, or accepted and waiting. `task_id` is the task that holds it."""

    operation_id: str
    task_id: str
    seconds_left: float


Admission = Lease | Stored | Running


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A call that the ledger has taken with its sealed request: it will end, whatever becomes of its message."""

    operation_id: str
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a sealed request is bound to: altered in any of these, it does not open."""

    operation_id: str
    project: str
    key: str
    tool: str
    agent: str
    run: str
    step: str
    arguments_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """An accepted call as a worker opens it: the words that its seal is bound to, and the sealed request.

    Unit: `waited_seconds` since its acceptance, by the database's clock.
    """

    operation_id: str
    binding: Binding
    waited_seconds: float
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message that is due: the tool's task, under the id that its client waits for, with the operation's id alone."""

    operation_id: str
    tool: str
    task_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a lease's holder says the operation ended; `body` is the receipt's canonical JSON."""

    state: OperationState
    code: str | None
    sent: str
    body: str
    digest: str
