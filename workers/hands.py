"""One worker process's own hands: its ledger connections, its road and its extraction pool, made once."""

import os
from dataclasses import dataclass
from functools import cache
from threading import Lock

from broker.app import app
from broker.ledger.engine import Ledger, ledger_engine
from broker.settings import Settings, settings
from workers.extract.pool import ExtractionPool
from workers.net.fetch import Road, road
from workers.search.duckduckgo import DUCKDUCKGO
from workers.search.provider import Provider
from workers.search.searxng import searxng_at

_EXTRACTORS = max(1, min(4, os.cpu_count() or 1))
_making = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What every call of this process shares."""

    ledger: Ledger
    road: Road
    extraction: ExtractionPool
    search: Provider = DUCKDUCKGO


def hands() -> Hands:
    """This process's hands; the first call makes them. After a fork a child makes its own."""
    with _making:
        return _hands_of(os.getpid())


@cache
def _hands_of(_pid: int) -> Hands:
    found = settings()
    return Hands(
        ledger=ledger_engine(found.require_database_url(), size=app.conf.worker_concurrency),
        road=road(nameservers=found.nameserver_list(), ca_file=found.ca_file),
        extraction=ExtractionPool(_EXTRACTORS),
        search=provider_of(found),
    )


def provider_of(found: Settings) -> Provider:
    """The deployment's one search provider: no other stands in for it. Raises: ValueError, which says why."""
    return searxng_at(found.require_searxng_url()) if found.search_provider == "searxng" else DUCKDUCKGO


def lay_down() -> None:
    """Close the pool and the connections: at the end of a worker."""
    if _hands_of.cache_info().currsize:
        held = hands()
        held.extraction.close()
        held.ledger.dispose()
        _hands_of.cache_clear()
