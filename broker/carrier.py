"""The Redis transport that outlives its broker.

Two facts of Celery and kombu 5.7.0 make it necessary. When the broker goes away while a message is unacknowledged, the
consumer first collects the connection (which drops the transport's client) and then closes it; restoring and every
later acknowledgement then fail with an AttributeError that Celery takes for unrecoverable, and the worker exits. A
redis ConnectionError in its place is recoverable: the visibility timeout redelivers. Second, kombu builds a new client
for every append and acknowledgement; one client a channel saves about a quarter of a no-op's CPU.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as BrokerGone

_log = logging.getLogger(__name__)

UNREADABLE = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    RecursionError,
)  # what reading a malformed message raises


class QoS(kombu_redis.QoS):
    """The book of unacknowledged messages, which never writes them to a file of its own.

    kombu dumps what it could not give back at a close into a temporary file, arguments and all. It needs no dump: the
    messages stand in the broker's own book, and come back after the visibility timeout.
    """

    def restore_unacked(self) -> list[Any]:  # type: ignore[override]
        """Give back what can be given back; what cannot is the broker's to redeliver."""
        unrestored: Any = super().restore_unacked()
        if unrestored:
            _log.warning("messages_left_to_redelivery", extra={"count": len(unrestored)})
        return []


class Channel(kombu_redis.Channel):
    """A channel that says that its broker is gone, keeps one client, and drops what is no message."""

    QoS = QoS
    _kept: Any = None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """A client to speak to the broker with. Raises: BrokerGone when the connection was collected."""
        yield client or self._keep_client()

    def _keep_client(self) -> Any:
        if self._pool is None and getattr(self.connection, "client", None) is None:  # type: ignore[attr-defined]
            gone = "the broker's connection is closed"
            raise BrokerGone(gone)
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = self._create_client()  # type: ignore[attr-defined]
        return self._kept

    def _brpop_read(self, **options: Any) -> Any:
        """As kombu's; a list item that is no JSON, or no envelope of a message, is dropped instead of ending us."""
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except UNREADABLE as error:
            _log.warning("unreadable_message_dropped", extra={"reason": type(error).__name__})
            return True


class Transport(kombu_redis.Transport):
    """kombu's Redis transport with our channel."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        """As kombu's, for what has the envelope of a message. Raises: ValueError, which drops the rest."""
        if not is_enveloped(message):
            malformed = "not the envelope of a message"
            raise ValueError(malformed)
        super()._deliver(message, queue)


def is_enveloped(message: Any) -> bool:
    """Whether kombu can book, give back and acknowledge this message: later, each of these ends the connection."""
    try:
        properties = message["properties"]
        delivery = properties["delivery_info"]
        tag, exchange, key = properties["delivery_tag"], delivery["exchange"], delivery["routing_key"]
        body, headers = message["body"], message.get("headers")
    except (TypeError, KeyError, AttributeError):
        return False
    words = all(isinstance(word, str) and word.isascii() for word in (tag, exchange, key))
    return words and tag != "" and isinstance(body, str) and isinstance(headers, dict | None)


def install() -> None:
    """Make this the transport of every Redis URL in this process.

    By alias and not by the setting `broker_transport`: kombu ignores that for `redis+socket://`, the URL of a socket.
    """
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss", "valkey", "valkeys"), f"{__name__}:Transport"))
