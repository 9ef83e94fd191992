"""What a running fleet says of itself: its workers, its queues, its operations."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from broker import settings as configuration
from broker.app import app
from broker.ledger.engine import ledger_engine
from broker.ledger.overview import read_counts
from broker.settings import Settings

QUEUES = ("search", "fetch", "models", "care", "celery")
PING_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Who answers, and what waits. Shape: a store that cannot be reached is named in `unreachable`."""

    workers: tuple[str, ...]
    queues: dict[str, int]
    operations: dict[str, Any] | None
    unreachable: tuple[str, ...]


def look(settings: Settings) -> Fleet:
    """The fleet of these stores, as it is now."""
    configuration.install(settings)
    unreachable = []
    workers: tuple[str, ...] = ()
    queues: dict[str, int] = {}
    try:
        workers, queues = answering(), waiting()
    except (OperationalError, RedisError, OSError):
        unreachable.append("broker")
    counts = operations(settings)
    if counts is None:
        unreachable.append("database")
    return Fleet(workers=workers, queues=queues, operations=counts, unreachable=tuple(unreachable))


def answering(seconds: float = PING_SECONDS) -> tuple[str, ...]:
    """The names of the workers that answer. Raises: the broker's errors."""
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=2)
        replies = app.control.ping(timeout=seconds, connection=connection) or []
    return tuple(sorted(name for reply in replies for name in reply))


def waiting() -> dict[str, int]:
    """How many messages wait in each queue. Raises: the broker's errors."""
    counted = {}
    with app.connection_for_read() as connection:
        for name in QUEUES:
            counted[name] = 0  # a queue that does not exist holds nothing
            channel: Any = connection.channel()
            with suppress(*connection.channel_errors):
                counted[name] = int(channel.queue_declare(queue=name, passive=True).message_count)
                channel.close()
    return counted


def operations(settings: Settings) -> dict[str, Any] | None:
    """Where operations stand; None when the ledger cannot be reached or has no schema yet."""
    ledger = ledger_engine(settings.require_database_url(), size=1)
    try:
        return asdict(read_counts(ledger))
    except Exception:  # noqa: BLE001 - whatever the driver says, the answer is that it could not be read
        return None
    finally:
        ledger.dispose()
