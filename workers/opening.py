"""Openings: a message that carries an accepted operation's id alone, and what becomes of the call if it cannot begin.

A refusal ends the call with a receipt, so that its client hears it. A refusal that time may lift puts it off. Whatever
else happens to this delivery is no matter: the sweeper posts the message again for as long as the call is accepted.
"""

from dataclasses import dataclass
from typing import Any

import structlog
from celery import Task
from celery.exceptions import Ignore
from structlog.typing import FilteringBoundLogger

from broker import outbox
from broker.ledger.outbox import end_accepted, open_accepted, postpone
from broker.ledger.receipts import is_id
from broker.logs import where
from broker.orders import Order, read_order
from broker.settings import settings
from schemas.envelope import Envelope, replay
from schemas.errors import Cooldown, Internal, InvalidArguments, OutriderError, ProjectBusy
from schemas.operation import OperationState, Running, Sealed, Stored
from schemas.tool import Tool
from workers.hands import hands

PART = "operation"  # the one keyword of such a message
WAIT_SECONDS = 90.0  # how long a call is put off for a busy project before it is refused for it
LONGEST_PAUSE_SECONDS = 45.0  # a longer countdown would outlive the broker's redelivery timeout, and come twice
LONGEST_SLOT_PAUSE_SECONDS = 10.0
SHORTEST_PAUSE_SECONDS = 1.0
SWEEP_SLACK_SECONDS = 10.0  # the sweeper waits for the countdown's own message first

_log: FilteringBoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Opening:
    """One accepted call, as this delivery found it."""

    tool: Tool
    task: Task[Any, Any]
    sealed: Sealed


def open_call(tool: Tool, task: Task[Any, Any], operation_id: object) -> Opening | Envelope:
    """The accepted call; or its envelope, where it has ended. Raises: InvalidArguments, LedgerUnavailable, Ignore."""
    found = None
    if isinstance(operation_id, str) and is_id(operation_id):
        found = open_accepted(hands().ledger, operation_id, tool.name, str(task.request.id))
    if found is None:
        raise InvalidArguments("There is no accepted call of this tool under that id.", field=PART)
    if isinstance(found, Sealed):
        return Opening(tool, task, found)
    return answer_known(tool, found)


def answer_known(tool: Tool, found: Stored | Running) -> Envelope:
    """The envelope of an accepted call that needs no worker any more. Raises: Ignore, for a copy that comes too late.

    Whoever runs the call answers it. A completed one's text may be on its way at this moment: saying that it is not
    kept could overtake it.
    """
    if isinstance(found, Running) or found.state is OperationState.COMPLETED:
        raise Ignore
    return replay(tool.name, found)


def read_opening(opening: Opening) -> tuple[Order, bool]:
    """What the call asks for, and whether its client wants progress. Raises: RequestUnreadable, InvalidArguments."""
    opened = outbox.unseal(settings().seal_keys(), opening.sealed)
    return read_order(opening.tool, (), opened.order), opened.progress


def turn_away(opening: Opening, error: Exception) -> Envelope:
    """The envelope of a call that is refused for good. Raises: celery's Retry for one put off; LedgerUnavailable."""
    sealed, ledger = opening.sealed, hands().ledger
    if isinstance(error, ProjectBusy | Cooldown):
        pause = _pause(error, sealed.waited_seconds)
        if sealed.waited_seconds + pause <= WAIT_SECONDS:
            if not postpone(ledger, sealed.operation_id, pause + SWEEP_SLACK_SECONDS):
                raise Ignore
            raise opening.task.retry(countdown=pause, max_retries=None) from None
    said = error if isinstance(error, OutriderError) else _fault(opening, error)
    ended = end_accepted(ledger, sealed.operation_id, OperationState.REFUSED, said)
    if not isinstance(ended, Stored):
        raise Ignore
    return replay(opening.tool.name, ended).model_copy(update={"replayed": ended.code != said.code})


def _pause(error: OutriderError, waited_seconds: float) -> float:
    """When to ask again: at the known start; or well before a slot is free at the latest, for most end sooner."""
    known = error.facts.get("retry_after_seconds")
    latest = known if isinstance(known, int | float) else LONGEST_PAUSE_SECONDS
    soon = latest if isinstance(error, Cooldown) else min(LONGEST_SLOT_PAUSE_SECONDS, waited_seconds / 2)
    return min(LONGEST_PAUSE_SECONDS, max(SHORTEST_PAUSE_SECONDS, min(latest, soon)))


def _fault(opening: Opening, error: Exception) -> Internal:
    kind, place = type(error).__name__, where(error.__traceback__)
    _log.error("opening_broke", tool=opening.tool.name, exception=kind, at=place)
    return Internal("A fault of ours; the worker's log names the place.", kind=kind)
