"""The database goes away in the middle of a call: one reservation, one end, one answer (M151)."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import monotonic

import pytest
from sqlalchemy import text

from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, find_ended, settle
from broker.ledger.projects import Project, read_project, save_project
from schemas import errors
from schemas.operation import Lease, OperationState
from tests.broker.ledger.lost_replies import LossyLine
from tests.ledger_calls import ending, failed, profile, request, run_sql, wait_until

ONE = profile(step_max=1, active_max=1)


@contextmanager
def held(engine, statement, **values):
    """A transaction of somebody else, with what it locks, until the block ends."""
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        connection.execute(text(statement), values)
        yield
        connection.rollback()


def waiting_backend(engine):
    rows = run_sql(engine, "SELECT pid FROM pg_stat_activity WHERE query LIKE '%ledger_%' AND wait_event_type = 'Lock'")
    return rows[0].pid if rows else None


def kill(engine, pid):
    run_sql(engine, "SELECT pg_terminate_backend(:pid)", pid=pid)
    wait_until(lambda: not run_sql(engine, "SELECT 1 FROM pg_stat_activity WHERE pid = :pid", pid=pid))


@pytest.fixture
def line(open_ledger, ledger_url):
    line = LossyLine(ledger_url)
    yield line
    line.close()


@pytest.fixture
def far_ledger(line):
    engine = ledger_engine(line.url, size=2)
    yield engine
    engine.dispose()


def test_admit_is_one_admission_when_its_backend_is_killed(open_ledger):
    mutex = "SELECT pg_advisory_xact_lock(hashtextextended('p c', 0))"
    with ThreadPoolExecutor(1) as pool:
        with held(open_ledger, mutex):
            answer = pool.submit(admit, open_ledger, request(profile=ONE, key="c"))
            kill(open_ledger, wait_until(lambda: waiting_backend(open_ledger)))
        lease = answer.result(20)

    assert isinstance(lease, Lease)
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(1,), (1,)]


def test_settle_is_one_end_when_its_backend_is_killed(open_ledger):
    lease = admit(open_ledger, request(profile=ONE))
    row = "SELECT 1 FROM operations WHERE id = :id FOR UPDATE"
    with ThreadPoolExecutor(1) as pool:
        with held(open_ledger, row, id=lease.operation_id):
            answer = pool.submit(settle, open_ledger, lease, ending())
            kill(open_ledger, wait_until(lambda: waiting_backend(open_ledger)))
        stored = answer.result(20)

    assert stored.state is OperationState.COMPLETED
    assert run_sql(open_ledger, "SELECT count(*) FROM receipts") == [(1,)]


def test_settle_sees_a_save_when_it_came_while_settle_waited_for_the_row(open_ledger):
    """M139: the settings are read after the lock, not with the statement's first snapshot."""
    lease = admit(open_ledger, request())
    row = "SELECT 1 FROM operations WHERE id = :id FOR UPDATE"
    with ThreadPoolExecutor(1) as pool:
        with held(open_ledger, row, id=lease.operation_id):
            answer = pool.submit(settle, open_ledger, lease, ending())
            wait_until(lambda: waiting_backend(open_ledger))
            save_project(open_ledger, read_project(open_ledger, "p"), actor="tests")
        with pytest.raises(errors.SettingsChanged):
            answer.result(20)


def test_admit_gives_the_committed_lease_when_its_reply_is_lost(open_ledger, far_ledger, line):
    read_project(far_ledger, "p")  # the connection is there before the line loses anything
    line.lose_next_reply()

    lease = admit(far_ledger, request(profile=ONE))

    assert line.lost.is_set()
    assert isinstance(lease, Lease)
    assert run_sql(open_ledger, "SELECT id::text FROM operations") == [(lease.operation_id,)]
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(1,), (1,)]


@pytest.mark.parametrize("end", [ending(), failed()], ids=["completed", "failed"])
def test_settle_gives_the_committed_end_when_its_reply_is_lost(open_ledger, far_ledger, line, end):
    lease = admit(far_ledger, request(profile=ONE, key="c"))
    line.lose_next_reply()

    stored = settle(far_ledger, lease, end)

    assert line.lost.is_set()
    assert stored.digest == end.digest
    assert find_ended(open_ledger, "p", "c") == stored


def test_ledger_carries_on_when_the_server_restarts_under_running_calls(open_ledger, postgres):
    """M151. Every admission before, during and after the restart is there exactly once."""
    quota = profile(step_max=10_000, run_max=10_000, active_max=16)
    enough, stop = Event(), Event()
    ended = []

    def work(_number):
        while not stop.is_set():
            lease = admit(open_ledger, request(profile=quota), patience_seconds=60)
            ended.append(settle(open_ledger, lease, ending(), patience_seconds=60))
            if len(ended) > 50:
                enough.set()
        return True

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(work, number) for number in range(8)]
        try:
            assert enough.wait(30)
            postgres.control("restart", "-m", "immediate")
            count = len(ended)
            wait_until(lambda: len(ended) > count + 50)
        finally:
            stop.set()
        assert all(answer.result(60) for answer in answers)

    assert run_sql(open_ledger, "SELECT count(*) FROM operations WHERE state = 'completed'") == [(len(ended),)]
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(len(ended),), (len(ended),)]


def test_ledger_spends_no_patience_on_dead_connections_when_the_server_is_back(open_ledger, postgres):
    """Eight pooled connections died; each is found by use, and none costs a wait for the server."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: read_project(open_ledger, "p"), range(64)))
    postgres.control("restart", "-m", "fast")

    assert isinstance(admit(open_ledger, request(), patience_seconds=3), Lease)


def test_settle_waits_past_its_lease_for_a_server_that_is_away(open_ledger, postgres):
    """X2: nobody has ended the call meanwhile, so its own account is its end."""
    lease = admit(open_ledger, request(profile=profile(lease_seconds=1)))
    over_at = monotonic() + 1.5
    postgres.control("stop", "-m", "fast")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(settle, open_ledger, lease, ending())
        wait_until(lambda: monotonic() > over_at)
        postgres.control("restart", "-m", "fast")
        stored = answer.result(20)

    assert stored.state is OperationState.COMPLETED


def test_readers_notice_nothing_when_their_pooled_connections_died(open_ledger, postgres):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: read_project(open_ledger, "p"), range(64)))
    postgres.control("restart", "-m", "fast")

    assert [read_project(open_ledger, "p").enabled for _ in range(16)] == [True] * 16


@pytest.fixture
def nobody():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    engine = ledger_engine(f"postgresql://postgres@127.0.0.1:{port}/ledger", size=1)
    yield engine
    engine.dispose()


def test_readers_say_that_the_ledger_is_unavailable_when_nobody_listens(nobody):
    with pytest.raises(errors.LedgerUnavailable):
        read_project(nobody, "p")


def test_admit_says_that_the_ledger_is_unavailable_when_nobody_listens(nobody):
    with pytest.raises(errors.LedgerUnavailable) as refusal:
        admit(nobody, request(), patience_seconds=0.1)

    assert refusal.value.facts == {"cause": "OperationalError", "sqlstate": None}


def test_admit_says_that_the_ledger_is_unavailable_when_every_connection_is_in_use(open_ledger, ledger_url):
    engine = ledger_engine(ledger_url, size=1)
    engine.pool._timeout = 0.05
    with engine.connect(), pytest.raises(errors.LedgerUnavailable):
        admit(engine, request(), patience_seconds=0.1)
    engine.dispose()


def test_admit_refuses_as_our_fault_when_the_schema_is_missing(scratch_database):
    engine = ledger_engine(scratch_database(), size=1)

    with pytest.raises(errors.Internal) as refusal:
        admit(engine, request())

    assert refusal.value.facts["sqlstate"] == "42883"  # undefined_function
    engine.dispose()


def test_disabled_project_is_refused_as_such_when_calls_race_with_the_save(open_ledger):
    lease = admit(open_ledger, request())
    save_project(open_ledger, Project(id="p"), actor="tests")

    with pytest.raises(errors.CapabilityDisabled):
        admit(open_ledger, request())
    with pytest.raises(errors.SettingsChanged):
        settle(open_ledger, lease, ending())
