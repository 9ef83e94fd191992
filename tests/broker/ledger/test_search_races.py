"""Searches racing in the ledger: 20 a step, 100 a run, one active, two seconds apart (M142-M147)."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from sqlalchemy import text

from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, settle
from schemas import errors
from schemas.operation import Lease
from schemas.profiles import WEB_FETCH, WEB_SEARCH
from tests.broker.ledger.test_races import admitted_of_200, crowd, deadlocks
from tests.ledger_calls import failed, request, run_sql

# The gap is short where the quota is raced for: it is kept all the same, and 120 starts would take four minutes.
BRISK = replace(WEB_SEARCH, quota=replace(WEB_SEARCH.quota, gap_seconds=0.005))


@pytest.mark.parametrize(
    ("names", "error", "admitted"),
    [
        (lambda _: {}, errors.StepQuotaExhausted, 20),
        (lambda n: {"step": f"s{n}"}, errors.RunQuotaExhausted, 100),
    ],
    ids=["M142-step-of-20", "M143-run-of-100-with-children"],
)
def test_ledger_admits_exactly_the_search_quota_when_200_race_for_it(open_ledger, ledger_url, names, error, admitted):
    """M147, and no two start at one instant."""
    before = deadlocks(open_ledger)

    assert admitted_of_200(ledger_url, BRISK, names, error) == admitted
    assert run_sql(open_ledger, "SELECT count(*) FROM operations") == [(admitted,)]
    starts = [at for (at,) in run_sql(open_ledger, "SELECT admitted_at FROM operations ORDER BY admitted_at")]
    assert all(earlier < later for earlier, later in pairwise(starts))
    assert deadlocks(open_ledger) == before


def test_ledger_admits_one_search_when_32_start_together(open_ledger, ledger_url):
    """M144, M145: the others are busy or early, and know for how long."""

    def race(engine, _number):
        try:
            return admit(engine, request(profile=WEB_SEARCH))
        except (errors.ProjectBusy, errors.Cooldown) as refused:
            return refused

    with crowd(ledger_url, 32) as run:
        found = run(race, range(32))
    assert Counter(isinstance(one, Lease) for one in found) == {True: 1, False: 31}
    waits = [one.facts["retry_after_seconds"] for one in found if not isinstance(one, Lease)]
    assert all(0 < wait <= WEB_SEARCH.limits.lease_seconds for wait in waits)


def test_loser_is_told_a_wait_when_the_slot_is_in_somebody_s_hands_at_this_moment(open_ledger, ledger_url):
    """Issue 4: whoever holds the slot's row has no lease to be read yet; one that begins now is over by then."""
    first = admit(open_ledger, request(profile=WEB_SEARCH))
    settle(open_ledger, first, failed())
    other = ledger_engine(ledger_url, size=1)
    with other.execution_options(isolation_level="READ COMMITTED").begin() as holder:
        assert len(holder.execute(text("SELECT n FROM slots FOR UPDATE")).all()) == 1
        with pytest.raises(errors.ProjectBusy) as refused:
            admit(open_ledger, request(profile=WEB_SEARCH))
    other.dispose()
    assert refused.value.facts == {"active_max": 1, "retry_after_seconds": WEB_SEARCH.limits.lease_seconds}


def test_search_and_fetch_are_counted_apart_when_both_race(open_ledger, ledger_url):
    """M146: a run's fetches and searches neither spend nor block each other."""

    def race(engine, number):
        one = request(profile=BRISK if number % 2 else WEB_FETCH)
        while True:
            try:
                lease = admit(engine, one, patience_seconds=60)
            except (errors.ProjectBusy, errors.Cooldown):
                continue
            except errors.StepQuotaExhausted:
                return None
            settle(engine, lease, failed(), patience_seconds=60)
            return one.tool.profile.family

    with crowd(ledger_url, 100) as run:
        assert Counter(run(race, range(100))) == {"search": 20, "fetch": 40, None: 40}
