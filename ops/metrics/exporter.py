"""The exporter: the server that Prometheus scrapes."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import CollectorRegistry, start_http_server

from broker import settings as configuration
from broker.ledger.engine import Ledger, ledger_engine
from broker.settings import Settings
from ops.metrics.broker import BrokerCollector
from ops.metrics.ledger import LedgerCollector, catch_up

_log = structlog.get_logger(__name__)


@contextmanager
def exporter(settings: Settings, *, port: int, address: str) -> Iterator[int]:
    """The port at which the metrics of these stores are served while the block runs. Raises: OSError."""
    configuration.install(settings)
    ledger = ledger_engine(settings.require_database_url(), size=2)
    _begin(ledger)
    registry = CollectorRegistry()
    registry.register(LedgerCollector(ledger))
    registry.register(BrokerCollector())
    server, thread = start_http_server(port, addr=address, registry=registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        ledger.dispose()


def _begin(ledger: Ledger) -> None:
    """Count what ended while no exporter ran, before anybody hears a number; a ledger that is away is told later."""
    try:
        catch_up(ledger)
    except Exception as error:  # noqa: BLE001 - no schema yet, no server yet: the scrapes say so until it is there
        _log.warning("ledger_not_read", exception=type(error).__name__)
