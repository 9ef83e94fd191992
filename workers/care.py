"""Periodic care: what must happen even when nobody looks."""

import structlog
from celery.signals import worker_init, worker_ready, worker_shutdown
from celery.worker.consumer import Consumer

from broker import celeryconfig
from broker.app import app
from broker.ledger.health import durability
from broker.ledger.model_spending import end_deserted
from broker.ledger.operations import finalize_stale
from broker.ledger.outbox import expire_accepted
from broker.ledger.truth_runs import end_overdue
from broker.outbox import post_due
from broker.promises import check_order
from schemas.tools import catalogue
from workers.hands import hands, lay_down

_log = structlog.get_logger(__name__)


@app.task(name="finalize_stale", ignore_result=True)
def finalize() -> int:
    """Write outcome_unknown where a lease ended without an account, and end truth runs that are overdue or deserted."""
    ledger = hands().ledger
    return finalize_stale(ledger) + end_overdue(ledger) + end_deserted(ledger)


@app.task(name="repost_accepted", ignore_result=True)
def repost() -> int:
    """Post again what seems lost of the accepted calls, and end those whose time is over; the count of posts."""
    ledger = hands().ledger
    expired, posted = expire_accepted(ledger), post_due(ledger)
    if expired or posted:
        _log.warning("accepted_calls_swept", posted=posted, expired=expired)
    return posted


@worker_init.connect  # type: ignore[untyped-decorator,unused-ignore]
def keep_promises(**_signal: object) -> None:
    """Refuse to start where at-most-once could not hold. Raises: SystemExit, which alone passes Celery's signals."""
    try:
        check_order(tuple(tool.profile for tool in catalogue().values()), celeryconfig.REDELIVERY_SECONDS)
        durability(hands().ledger)
    except Exception as error:
        raise SystemExit(f"This worker does not start: {error}") from error


@worker_ready.connect  # type: ignore[untyped-decorator,unused-ignore]
def warm_up(sender: Consumer, **_signal: object) -> None:
    """Start the extraction processes before the first page asks for them, where this worker serves tools that read."""
    reading = {tool.queue for tool in catalogue().values() if tool.profile.limits.media}
    if reading & set(sender.app.amqp.queues.consume_from):
        hands().extraction.warm()


@worker_shutdown.connect  # type: ignore[untyped-decorator,unused-ignore]
def leave(**_signal: object) -> None:
    """Close what this process holds."""
    lay_down()
