"""What the message broker tells Prometheus: what waits, and what is held without an acknowledgement."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric

from broker.app import app
from ops.cli.watching import waiting

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Unacked:
    """Messages that workers hold. Unit: `oldest` in seconds since its delivery, by this machine's clock."""

    count: int
    oldest: float


@dataclass(frozen=True, slots=True)
class BrokerCollector:
    """Reads the broker at each scrape."""

    def collect(self) -> Iterator[Metric]:
        """The broker's metrics, as they are now."""
        up = GaugeMetricFamily("outrider_broker_up", "1 when the message broker answered this scrape.")
        try:
            queues, unacked = waiting(), look_at_unacked()
        except Exception as error:  # noqa: BLE001 - whatever it is, the scrape tells that there was no answer
            _log.warning("broker_not_read", exception=type(error).__name__)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        messages = GaugeMetricFamily("outrider_queue_messages", "Messages that wait in a queue.", labels=["queue"])
        for queue, count in queues.items():
            messages.add_metric([queue], count)
        yield messages
        if unacked is not None:
            yield from _held(unacked)


def look_at_unacked() -> Unacked | None:
    """What workers hold; None where the broker is no Valkey and keeps no such book. Raises: the broker's errors."""
    with app.connection_for_read() as connection:
        channel: Any = connection.channel()
        if not hasattr(channel, "unacked_index_key"):
            return None
        with channel.conn_or_acquire() as client:
            count = int(client.hlen(channel.unacked_key))
            # The score is the delivery's time. Source: kombu.transport.redis.QoS.append.
            first = client.zrange(channel.unacked_index_key, 0, 0, withscores=True)
    return Unacked(count, max(0.0, time.time() - first[0][1]) if first else 0.0)


def _held(unacked: Unacked) -> Iterator[Metric]:
    count = GaugeMetricFamily("outrider_unacked_messages", "Messages that workers hold and have not acknowledged.")
    count.add_metric([], unacked.count)
    age = GaugeMetricFamily("outrider_oldest_unacked_seconds", "Since the oldest of them was delivered.")
    age.add_metric([], unacked.oldest)
    yield from (count, age)
