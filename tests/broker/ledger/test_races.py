"""Many at once: exactly as many admissions as the quota has, one lease a call, no deadlock (M142, M143, M144, M147)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from random import Random
from threading import Barrier

import pytest

from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, finalize_stale, settle
from broker.ledger.projects import read_project, save_project
from schemas import errors
from schemas.operation import Lease, OperationState, Running, Stored
from tests.ledger_calls import ending, failed, pass_lease, profile, request, run_sql

RACERS = 200


@contextmanager
def crowd(url, size):
    """A pool of connections, already open, and a runner that starts all its work at one instant."""
    engine = ledger_engine(url, size=size)
    barrier = Barrier(size, timeout=60)

    def run(work, arguments):
        def start(argument):
            with engine.connect():
                barrier.wait()
            return work(engine, argument)

        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(start, arguments))

    yield run
    engine.dispose()


def admitted_of_200(url, quota, names, error):
    """How many of 200 racers are admitted. Who finds the project busy or is too early asks again, as callers do."""

    def race(engine, number):
        one = request(profile=quota, **names(number))
        while True:
            try:
                lease = admit(engine, one, patience_seconds=60)
            except (errors.ProjectBusy, errors.Cooldown):
                continue
            except error:
                return 0
            settle(engine, lease, failed(), patience_seconds=60)
            return 1

    with crowd(url, RACERS) as run:
        return sum(run(race, range(RACERS)))


def deadlocks(engine):
    return run_sql(engine, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")


@pytest.mark.parametrize(
    ("quota", "names", "error"),
    [
        (profile(), lambda _: {}, errors.StepQuotaExhausted),
        (profile(run_max=40), lambda n: {"step": f"s{n}"}, errors.RunQuotaExhausted),
        (profile(active_max=64), lambda n: {"key": f"again{n}"}, errors.StepQuotaExhausted),
    ],
    ids=["M142-step-of-40", "M143-run-of-40-with-children", "M142-step-of-40-wide-open"],
)
def test_ledger_admits_exactly_the_quota_when_200_race_for_it(open_ledger, ledger_url, quota, names, error):
    """M147: until the quota decides."""
    before = deadlocks(open_ledger)

    admitted = admitted_of_200(ledger_url, quota, names, error)

    assert admitted == 40
    assert run_sql(open_ledger, "SELECT count(*) FROM operations") == [(40,)]
    assert run_sql(open_ledger, "SELECT max(used) FROM counters") == [(40,)]
    assert deadlocks(open_ledger) == before


def test_ledger_never_exceeds_the_active_maximum_when_32_race(open_ledger, ledger_url):
    """M144: of 32 that start together, none of whom ends, three are admitted."""

    def race(engine, _number):
        try:
            return isinstance(admit(engine, request(profile=profile())), Lease)
        except errors.ProjectBusy:
            return False

    with crowd(ledger_url, 32) as run:
        assert 1 <= sum(run(race, range(32))) <= 3
    assert run_sql(open_ledger, "SELECT count(*) <= 3 FROM operations") == [(True,)]


@pytest.mark.parametrize("active_max", [1, 3])
def test_ledger_grants_one_lease_when_a_call_is_delivered_16_times_at_once(open_ledger, ledger_url, active_max):
    """Every other delivery is told who runs it: never busy, never out of quota."""
    quota = profile(active_max=active_max, step_max=1, run_max=1)
    with crowd(ledger_url, 16) as run:
        answers = run(lambda engine, _: admit(engine, request(profile=quota, key="c")), range(16))

    [lease] = [answer for answer in answers if isinstance(answer, Lease)]
    others = [answer for answer in answers if isinstance(answer, Running)]
    assert len(others) == 15
    assert {answer.operation_id for answer in others} == {lease.operation_id}


def test_ledger_grants_one_lease_when_one_delivery_repeats_itself_16_times_at_once(open_ledger, ledger_url):
    one = request(profile=profile(active_max=1, step_max=1))
    with crowd(ledger_url, 16) as run:
        leases = run(lambda engine, _: admit(engine, one), range(16))

    assert {(lease.operation_id, lease.until) for lease in leases} == {(leases[0].operation_id, leases[0].until)}
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(1,), (1,)]


def test_ledger_keeps_one_end_when_settle_readers_and_finalizers_race(open_ledger, ledger_url):
    quota = profile(active_max=8, step_max=100)
    for _ in range(8):
        key = request().key
        lease = admit(open_ledger, request(profile=quota, key=key))
        pass_lease(open_ledger, lease)

        def race(engine, number, lease=lease, key=key):
            if number % 3 == 0:
                return settle(engine, lease, ending(n=number))
            if number % 3 == 1:
                return admit(engine, request(profile=quota, key=key))
            return finalize_stale(engine)

        with crowd(ledger_url, 9) as run:
            answers = run(race, range(9))

        [end] = {answer for answer in answers if isinstance(answer, Stored)}
        assert answers.count(1) <= (end.state is OperationState.OUTCOME_UNKNOWN)


def test_ledger_stays_whole_when_everything_happens_at_once(open_ledger, ledger_url):
    """Few calls, many deliveries, two families, lost leases, finalizers, saves: in random order by twelve threads."""
    before = deadlocks(open_ledger)
    families = (
        profile(step_max=30, run_max=50, active_max=3),
        profile(family="search", step_max=30, run_max=50, active_max=2, gap_seconds=0.001),
    )

    def live(engine, number):
        dice = Random(number)
        for _ in range(40):
            quota, key = dice.choice(families), f"c{dice.randrange(60)}"
            one = request(
                profile=quota, key=f"{quota.family}-{key}", run=f"r{dice.randrange(2)}", step=f"s{dice.randrange(3)}"
            )
            with suppress(errors.ProjectBusy, errors.Cooldown, errors.StepQuotaExhausted, errors.RunQuotaExhausted):
                lease = admit(engine, one, patience_seconds=60)
                if isinstance(lease, Lease):
                    end_somehow(engine, lease, dice)
            [(over,)] = run_sql(engine, OVER)
            assert over == 0

    def end_somehow(engine, lease, dice):
        fate = dice.randrange(10)
        if fate < 3:
            pass_lease(engine, lease)
        if fate == 0:
            finalize_stale(engine)
        if fate == 9:
            save_project(engine, read_project(engine, "p"), actor="tests")
        with suppress(errors.SettingsChanged):
            settle(engine, lease, ending(), patience_seconds=60)
            return
        settle(engine, lease, failed("settings_changed"), patience_seconds=60)

    with crowd(ledger_url, 12) as run:
        run(live, range(12))

    assert deadlocks(open_ledger) == before
    assert run_sql(open_ledger, WRONG) == []


# Families with more live leases than their maximum, in one snapshot: never one.
OVER = """
SELECT count(*) FROM (
  SELECT family FROM operations WHERE state = 'pending' AND lease_until > clock_timestamp()
  GROUP BY family HAVING count(*) > CASE family WHEN 'search' THEN 2 ELSE 3 END) over
"""
# Counters that are not the number of admissions; ends without a receipt; slots that an ended call still holds.
WRONG = """
SELECT 'counter', scope, name FROM counters c WHERE used <> (
  SELECT count(*) FROM operations o
  WHERE o.family = c.family AND CASE c.scope WHEN 'run' THEN o.run ELSE o.run || '/' || o.step END = c.name)
UNION ALL SELECT 'receipt', state, key FROM operations o
  WHERE (state = 'pending') = EXISTS (SELECT 1 FROM receipts r WHERE r.operation_id = o.id)
UNION ALL SELECT 'slot', family, operation_id::text FROM slots s
  WHERE until > clock_timestamp()
    AND EXISTS (SELECT 1 FROM operations o WHERE o.id = s.operation_id AND o.state <> 'pending')
"""
