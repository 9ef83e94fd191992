"""The stand: a stack of its own for the bench, with one worker of 32 threads, and projects to spend from."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from broker import settings as configuration
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.overview import read_counts
from broker.ledger.projects import Project, save_project
from broker.settings import Settings
from ops.bench.account import Accounts
from ops.stack import fleet, life
from ops.stack.child import Part
from ops.stack.home import Home
from ops.stack.ledger import make_current

IN_FLIGHT = 32
AGENT = "bench"
# A project may hold 3 leases: with twice as many projects as calls in flight, in turn, none is ever refused.
PROJECTS = tuple(f"bench-{number}" for number in range(2 * IN_FLIGHT))
WORKER = "worker-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A stack that is up for the bench."""

    settings: Settings
    ledger: Ledger
    accounts: Accounts

    def ended(self) -> dict[str, int]:
        """How many operations have ended, by state; `pending` are those that have not."""
        counts = read_counts(self.ledger)
        ended = {state.value: count for state, count in counts.ended.items()}
        return ended | ({"pending": counts.pending} if counts.pending else {})


@contextmanager
def stand() -> Iterator[Stand]:
    """The stand while the block runs, with a home of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        own = Settings(home=Path(folder), database_url=None, broker_url=None, result_url=None)
        plan = life.Plan(settings=own, fleet=_one_worker, prepare=make_current, serves=True)
        with life.run(plan) as stack:
            configuration.install(stack.settings)
            ledger = ledger_engine(stack.settings.require_database_url(), size=2)
            try:
                for name in PROJECTS:
                    save_project(
                        ledger, Project(id=name, enabled=True, fetch_enabled=True, agents=(AGENT,)), actor=AGENT
                    )
                pids = {name: child.pid for name, child in stack.supervisor.children.items()}
                yield Stand(settings=stack.settings, ledger=ledger, accounts=Accounts(pids, WORKER))
            finally:
                ledger.dispose()


def _one_worker(home: Home, environment: Mapping[str, str]) -> tuple[Part, ...]:
    """The worker of a single call, with more threads and our no-ops."""
    (worker,) = fleet.one_worker(home, environment)
    return (replace(worker, argv=(*worker.argv, "-c", str(IN_FLIGHT), "-I", "ops.bench.noop,ops.bench.bare")),)
