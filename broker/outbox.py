"""The outbox's front: a call of our own client is accepted by the ledger, and a message with its id is posted.

The message is a hint that work is there; the promise is the ledger's row. A post that fails is no failure of the call:
whoever sweeps posts it again.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from celery.result import AsyncResult
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from broker import cipher
from broker.app import app
from broker.cipher import Keys
from broker.ledger.engine import Ledger
from broker.ledger.outbox import accept, binding_of, claim_posts
from broker.orders import Order
from schemas.operation import Accepted, Post, Request, Running, Sealed, Stored

# A connection that died in the pool is worth one more try; a broker that is away is the sweeper's business.
ONCE_MORE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
AWAY = (OperationalError, RedisError, OSError)  # what a broker or a result store that is away raises


@dataclass(frozen=True, slots=True)
class Opened:
    """What a sealed request asks for. `progress`: its client wants to hear what is being done."""

    order: dict[str, Any]
    progress: bool


def accept_order(
    ledger: Ledger, keys: Keys, order: Order, task_id: str, asked: dict[str, Any]
) -> Accepted | Stored | Running:
    """The order, accepted under an id of its own; `asked` is what is sealed of it.

    Raises: CallConflict, InvalidArguments, LedgerUnavailable.
    """
    operation_id = str(uuid4())
    key = order.context.call or task_id
    request = Request(
        tool=order.tool,
        context=order.context,
        key=key,
        arguments_digest=order.digest(key),
        owner="",
        task_id=task_id,
    )
    plain = json.dumps(asked, separators=(",", ":")).encode()
    return accept(ledger, operation_id, request, cipher.seal(keys, plain, binding_of(operation_id, request)))


def unseal(keys: Keys, found: Sealed) -> Opened:
    """The request behind the seal. Raises: RequestUnreadable."""
    asked = json.loads(cipher.unseal(keys, found.sealed, found.binding))
    return Opened(
        order={"arguments": asked["arguments"], "context": asked["context"]}, progress=bool(asked["progress"])
    )


def post(due: Post) -> "AsyncResult[Any] | None":
    """What listens for the reply to a message that was given to the broker, which carries the operation's id alone.

    None where the broker, or the result store, is away.
    """
    try:
        sent: AsyncResult[Any] = app.send_task(due.tool, kwargs={"operation": due.operation_id}, task_id=due.task_id)
    except AWAY:
        return None
    return sent


def post_due(ledger: Ledger, *, operation_id: str | None = None) -> int:
    """How many lost or put-off messages were posted again: of one call, or of all. Raises: LedgerUnavailable."""
    posted = 0
    for due in claim_posts(ledger, operation_id=operation_id):
        if post(due) is None:
            break  # the broker is away: what was claimed comes up again
        posted += 1
    return posted
