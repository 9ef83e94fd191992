"""The fleet: one table of the Celery processes of a stack, each with its command."""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ops import flower
from ops.stack.child import HOUSE, Escalation, Part
from ops.stack.home import Home
from ops.stack.listening import WATCHERS, Entry, listening

_CELERY = (sys.executable, "-m", "celery", "-A", "broker.app")
_WORKER = ("worker", "--loglevel", "INFO", "-P", "threads", "-E", "--without-gossip", "--without-mingle")

# SIGTERM drains a worker: what was begun is finished, within the longest lease. SIGQUIT makes it give back the rest and
# leave (`workers.keeper`). SIGKILL then loses nothing that the ledger does not know.
_WARM: Escalation = ((signal.SIGTERM, 55.0), (signal.SIGQUIT, 6.0), (signal.SIGKILL, 5.0))
_HURRIED: Escalation = ((signal.SIGQUIT, 6.0), (signal.SIGKILL, 5.0))
_PROMPT: Escalation = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
_AT_ONCE: Escalation = ((signal.SIGKILL, 5.0),)

WORKERS = 3  # the tier that is stopped first
MOST_WORKERS = 2
MODEL_THREADS = 8


def worker_count() -> int:
    """One process a core, two at most: a thread pool of 32 fills a core, and extraction has processes of its own."""
    return max(1, min(MOST_WORKERS, os.cpu_count() or 1))


def one_worker(home: Home, environment: Mapping[str, str]) -> tuple[Part, ...]:
    """The fleet of a single call."""
    queues = "fetch,search,care,celery"
    return (_celery(home, environment, "worker-1", (*_WORKER, "-c", "4", "-Q", queues, "-n", "worker-1@%h")),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Where the fleet is found: Flower, the admin pages and the metrics by those who watch, the gateway by agents."""

    flower: flower.FlowerEntry
    admin: Entry
    metrics: Entry
    gateway: Entry


def whole_fleet(home: Home, environment: Mapping[str, str], entries: Entries) -> tuple[Part, ...]:
    """The fleet of `outrider up`: workers, care, beat, Flower, the admin pages, the metrics and the gateway."""
    workers = [
        _celery(home, environment, name, (*_WORKER, "-c", "32", "-Q", "fetch,search,celery", "-n", f"{name}@%h"))
        for name in (f"worker-{number}" for number in range(1, worker_count() + 1))
    ]
    if "OUTRIDER_MODELS_FILE" in environment:
        # Each of its threads waits for a model and the gateway, for minutes: elsewhere it would hold their slots.
        port = {"OUTRIDER_GATEWAY_PORT": str(entries.gateway.port)}
        words = (*_WORKER, "-c", str(MODEL_THREADS), "-Q", "models", "-n", "models@%h")
        workers.append(_celery(home, {**environment, **port}, "models", words))
    care = _celery(home, environment, "care", (*_WORKER, "-c", "2", "-Q", "care", "-n", "care@%h"))
    # The plain scheduler keeps no file: nothing to be torn by a kill, and a missed tick is not worth keeping.
    beat = _celery(
        home, environment, "beat", ("beat", "--loglevel", "INFO", "-S", "celery.beat:Scheduler", "--pidfile="), WATCHERS
    )
    return (*workers, care, beat, *_listeners(home, environment, entries))


def _listeners(home: Home, environment: Mapping[str, str], entries: Entries) -> tuple[Part, ...]:
    count = ("ops", "metrics", f"--port={entries.metrics.port}")
    at_admin = {**environment, "OUTRIDER_ADMIN_PORT": str(entries.admin.port)}
    at_gateway = {**environment, "OUTRIDER_GATEWAY_PORT": str(entries.gateway.port)}
    return (
        flower.part(home, environment, entries.flower),
        listening(home, "admin", ("ops.admin",), at_admin),
        listening(home, "metrics", count, environment, seconds=3),  # it holds nothing worth waiting for
        # Stopped beside the workers, which finish what its clients wait for; it gives itself 43 s.
        listening(home, "gateway", ("broker.gateway",), at_gateway, tier=WORKERS, seconds=50),
    )


def _celery(home: Home, environment: Mapping[str, str], name: str, words: tuple[str, ...], tier: int = WORKERS) -> Part:
    return Part(
        name=name,
        argv=(*_CELERY, *words),
        folder=HOUSE,
        log=home.logs / f"{name}.log",
        tier=tier,
        environment=environment,
        stops=_WARM if tier == WORKERS else _PROMPT,
        hurried_stops=_HURRIED if tier == WORKERS else _AT_ONCE,
        may_leave=tier == WORKERS,
    )
