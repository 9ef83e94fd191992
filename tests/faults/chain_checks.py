"""Promises of the real ledger about the chains of receipts (X8): each a short play with one ending."""

from concurrent.futures import ThreadPoolExecutor

from broker.ledger.chains import read_chain
from broker.ledger.operations import admit, finalize_stale
from broker.ledger.outbox import expire_accepted
from schemas.findings import verify
from tests.faults.ledger_checks import BLOCKED
from tests.ledger_calls import pass_lease, request, run_sql, wait_until
from tests.outbox_calls import accepted, make_late
from tests.receipt_calls import WIDE, settled

HOLD = "SELECT 1 FROM chains WHERE run = 'first' FOR UPDATE"
FREE = "SELECT run FROM chains WHERE run = 'second' FOR UPDATE SKIP LOCKED"


def receipts_of_a_run_form_a_chain(engine):
    for _ in range(3):
        settled(engine)

    assert verify(read_chain(engine, "p", "r")) == ()


def _takes_the_first_chain_first(engine, end_all, make_due):
    """Whoever ends many waits for the chain of the first run without holding the second's, though that came first."""
    for run in ("first", "second"):
        settled(engine, run=run)
    for run in ("second", "first"):
        make_due(run)
    with ThreadPoolExecutor(1) as pool, engine.connect() as connection:
        held = connection.execution_options(isolation_level="READ COMMITTED")
        held.exec_driver_sql(HOLD)
        ending = pool.submit(end_all, engine)
        wait_until(lambda: ending.done() or run_sql(engine, BLOCKED))
        free = run_sql(engine, FREE)
        connection.rollback()
        assert ending.result(20) == 2
    assert free == [("second",)]


def a_finalizer_takes_chains_in_one_order(engine):
    def stale(run):
        pass_lease(engine, admit(engine, request(profile=WIDE, run=run)))

    _takes_the_first_chain_first(engine, finalize_stale, stale)


def a_sweeper_takes_chains_in_one_order(engine):
    def late(run):
        make_late(engine, accepted(engine, request(profile=WIDE, run=run))[0], minutes=11 if run == "first" else 12)

    _takes_the_first_chain_first(engine, expire_accepted, late)


CHECKS = (
    receipts_of_a_run_form_a_chain,
    a_finalizer_takes_chains_in_one_order,
    a_sweeper_takes_chains_in_one_order,
)
