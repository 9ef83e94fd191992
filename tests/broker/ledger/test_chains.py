"""X8: every end of an operation gives its receipt the next place in its run's chain, in the same transaction."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from alembic import command
from sqlalchemy.exc import DBAPIError

from broker.ledger.chains import read_chain, run_of
from broker.ledger.engine import ledger_engine, migration_engine
from broker.ledger.migrate import configuration, upgrade
from broker.ledger.operations import admit, finalize_stale, settle
from broker.ledger.outbox import end_accepted, expire_accepted
from broker.ledger.projects import Project, save_project
from schemas.chain import follow, genesis
from schemas.errors import CapabilityDisabled
from schemas.findings import verify
from schemas.operation import OperationState
from tests.ledger_calls import pass_lease, request, run_sql
from tests.outbox_calls import accepted, make_late
from tests.receipt_calls import WIDE, settled, told_ending

ODD = 'r "\\/\u00e9\u2028\x7f\x01\U0001f600'


def deadlocks(engine):
    [[count]] = run_sql(engine, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return count


def test_receipts_of_every_kind_of_end_verify_when_they_share_a_run(open_ledger):
    settled(open_ledger)
    one = request(profile=WIDE)
    lease = admit(open_ledger, one)
    settle(open_ledger, lease, told_ending(one, lease, "failed", "tls_error"))
    pass_lease(open_ledger, admit(open_ledger, request(profile=WIDE)))
    assert finalize_stale(open_ledger) == 1
    cancelled, refused, late = (accepted(open_ledger)[0] for _ in range(3))
    end_accepted(
        open_ledger, cancelled, OperationState.CANCELLED, CapabilityDisabled("Quoted: \u00e9 \x02.", fact=1e21)
    )
    end_accepted(open_ledger, refused, OperationState.REFUSED, CapabilityDisabled("No."))
    make_late(open_ledger, late)
    assert expire_accepted(open_ledger) == 1

    chain = read_chain(open_ledger, "p", "r")

    assert verify(chain) == ()
    assert [link.position for link in chain.links] == [1, 2, 3, 4, 5, 6]
    assert chain.head.length == 6


def test_links_are_those_of_the_documented_byte_form_when_names_are_odd(open_ledger):
    for run in ("r", ODD):
        [[told]] = run_sql(open_ledger, "SELECT ledger_genesis('p', :run)", run=run)
        assert told == genesis("p", run)
    settled(open_ledger)
    settled(open_ledger)

    links = read_chain(open_ledger, "p", "r").links

    assert links[0].link == follow(genesis("p", "r"), links[0].digest)
    assert all(after.link == follow(before.link, after.digest) for before, after in pairwise(links))


def test_runs_have_chains_of_their_own_when_their_names_are_alike(open_ledger):
    save_project(open_ledger, Project(id="q", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    names = [{"project": "p", "run": "r"}, {"project": "p", "run": "R"}, {"project": "q", "run": "r"}]
    for name in names:
        settled(open_ledger, **name)

    chains = [read_chain(open_ledger, **name) for name in names]

    assert [len(chain.links) for chain in chains] == [1, 1, 1]
    assert len({chain.head.link for chain in chains}) == 3


def test_a_late_or_repeated_settle_adds_no_link(open_ledger):
    one = request(profile=WIDE)
    lease = admit(open_ledger, one)
    for state, code in [("completed", None), ("completed", None), ("failed", "tls_error")]:
        settle(open_ledger, lease, told_ending(one, lease, state, code))

    assert read_chain(open_ledger, "p", "r").head.length == 1


def test_admission_writes_no_chain(open_ledger):
    admit(open_ledger, request(profile=WIDE))

    assert run_sql(open_ledger, "TABLE chains") == []


def test_run_of_knows_ended_operations_alone(open_ledger):
    waiting, _ = accepted(open_ledger)
    ended = settled(open_ledger)

    assert [run_of(open_ledger, name) for name in (ended, waiting, "x", "0" * 32)] == [("p", "r"), None, None, None]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chains SET length = length - 1",
        "UPDATE chains SET head = head",
        "UPDATE chains SET length = length + 1, run = 'x'",
        "DELETE FROM chains",
        "UPDATE receipts SET position = position",
    ],
)
def test_chains_refuse_a_change_when_it_is_no_new_receipt(open_ledger, statement):
    settled(open_ledger)
    settled(open_ledger)
    with pytest.raises(DBAPIError, match="row_is_final"):
        run_sql(open_ledger, statement)


def test_chain_verifies_when_50_threads_settle_in_one_run(open_ledger, ledger_url):
    """With finalizers of many runs, readers and two more runs beside them: nothing waits in a circle."""
    before = deadlocks(open_ledger)
    engine = ledger_engine(ledger_url, size=50)
    wide = [(request(profile=WIDE, run=f"r{n % 3 or ''}"), n) for n in range(100)]

    def live(pair):
        one, number = pair
        lease = admit(engine, one, patience_seconds=60)
        if number % 5 == 4:
            pass_lease(engine, lease)
            finalize_stale(engine)
        settle(engine, lease, told_ending(one, lease), patience_seconds=60)
        return verify(read_chain(engine, "p", one.context.run))

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(live, wide))
    engine.dispose()

    chains = [read_chain(open_ledger, "p", run) for run in ("r", "r1", "r2")]
    assert not any(found)
    assert [verify(chain) for chain in chains] == [(), (), ()]
    assert sum(len(chain.links) for chain in chains) == 100
    assert deadlocks(open_ledger) == before


def test_batches_take_chains_in_one_order_when_finalizers_meet_over_many_runs(open_ledger, ledger_url):
    """Leases that end in opposite orders of runs: sorted by lease alone, two finalizers would wait in a circle."""
    before = deadlocks(open_ledger)
    engine = ledger_engine(ledger_url, size=8)
    for turn in range(6):
        runs = [f"r{n}" for n in range(8)]
        for run in runs + runs[::-1]:
            pass_lease(open_ledger, admit(open_ledger, request(profile=WIDE, run=run, step=f"s{turn}")))
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(lambda _: finalize_stale(engine, limit=4), range(8))) == 16
    engine.dispose()

    assert deadlocks(open_ledger) == before
    assert all(verify(read_chain(open_ledger, "p", f"r{n}")) == () for n in range(8))


def test_migration_links_receipts_that_were_there_before_in_the_order_of_their_writing(scratch_database):
    url = scratch_database()
    engine = migration_engine(url)
    with engine.connect() as connection:
        command.upgrade(configuration(connection), "0002")
    old = ledger_engine(url, size=2)
    save_project(old, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    names = [settled(old, run=run) for run in ("r", "q", "r", "r", "q")]

    upgrade(url)

    assert [link.operation_id for link in read_chain(old, "p", "r").links] == [names[0], names[2], names[3]]
    settled(old, run="r")
    for run, length in (("r", 4), ("q", 2)):
        chain = read_chain(old, "p", run)
        assert verify(chain) == ()
        assert chain.head.length == length
    with pytest.raises(DBAPIError, match="row_is_final"):
        run_sql(old, "UPDATE receipts SET body = body")
    old.dispose()
