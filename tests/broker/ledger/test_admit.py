"""Admission: permission, quotas, concurrency, pace; and what a refusal leaves behind (M142-M151)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from broker.ledger.operations import admit, settle
from broker.ledger.projects import Project, save_project
from schemas import errors
from schemas.operation import Lease, OperationState, Running, Stored
from tests.ledger_calls import (
    SEARCH_QUOTA,
    contents,
    ending,
    failed,
    pass_lease,
    profile,
    request,
    run_sql,
    wait_until,
)


def test_admit_gives_a_lease_of_the_profiles_length_when_nothing_speaks_against_it(open_ledger):
    lease = admit(open_ledger, request())

    assert isinstance(lease, Lease)
    assert lease.until - lease.admitted_at == timedelta(seconds=45)  # M150
    assert 0 < lease.seconds_left <= 45
    assert (lease.budget.step, lease.budget.run) == (39, 199)
    assert lease.generation == 1


@pytest.mark.parametrize(
    ("saved", "agent", "error"),
    [
        (None, "a", errors.CapabilityDisabled),  # never saved
        (Project(id="q", fetch_enabled=True, agents=("a",)), "a", errors.CapabilityDisabled),
        (
            Project(id="q", enabled=True, agents=("a",)),
            "a",
            errors.CapabilityDisabled,
        ),  # M132: fetch has its own switch
        (Project(id="q", enabled=True, fetch_enabled=True, agents=("b",)), "a", errors.AgentNotPermitted),
        (Project(id="q", enabled=True, fetch_enabled=True, agents=()), "a", errors.AgentNotPermitted),
    ],
    ids=["fresh", "disabled", "fetch-disabled", "other-agent", "no-agent"],
)
def test_admit_refuses_and_leaves_nothing_when_it_is_not_permitted(ledger, saved, agent, error):
    """M148: a policy refusal counts nothing."""
    if saved is not None:
        save_project(ledger, saved, actor="tests")
    before = contents(ledger)

    with pytest.raises(error):
        admit(ledger, request(project="q", agent=agent))

    assert contents(ledger) == before


def test_admit_lets_search_through_when_only_fetch_is_switched_off(ledger):
    save_project(ledger, Project(id="p", enabled=True, agents=("a",)), actor="tests")

    assert isinstance(admit(ledger, request(profile=profile(family="search"))), Lease)


@pytest.mark.parametrize(
    ("scope", "error"), [("step", errors.StepQuotaExhausted), ("run", errors.RunQuotaExhausted)], ids=["M142", "M143"]
)
@pytest.mark.parametrize("maximum", [1, 40])
def test_admit_stops_at_the_quota_when_every_call_has_ended(open_ledger, scope, error, maximum):
    small = profile(**{"step_max": 1000, "run_max": 1000, f"{scope}_max": maximum})
    left = [_spend(open_ledger, small, step=f"s{n if scope == 'run' else ''}") for n in range(maximum)]

    with pytest.raises(error) as refusal:
        admit(open_ledger, request(profile=small, step="s999" if scope == "run" else "s"))

    assert [getattr(budget, scope) for budget in left] == list(range(maximum - 1, -1, -1))
    assert refusal.value.facts == {"limit": maximum}


@pytest.mark.parametrize(
    ("full", "error"), [("step_max", errors.StepQuotaExhausted), ("run_max", errors.RunQuotaExhausted)]
)
def test_admit_says_exhausted_and_not_busy_when_both_are_true(open_ledger, full, error):
    """A full counter never falls, so waiting for a slot would be in vain."""
    quota = profile(active_max=1, **{full: 1})
    admit(open_ledger, request(profile=quota))

    with pytest.raises(error):
        admit(open_ledger, request(profile=quota))


def test_admit_counts_failed_and_cancelled_calls_when_they_have_ended(open_ledger):
    """M148: an attempt counts, however it ended."""
    one = profile(step_max=2)
    settle(open_ledger, admit(open_ledger, request(profile=one)), failed())
    settle(open_ledger, admit(open_ledger, request(profile=one)), ending("cancelled", code="cancelled"))

    with pytest.raises(errors.StepQuotaExhausted):
        admit(open_ledger, request(profile=one))


def test_admit_counts_a_call_whose_worker_died_when_its_lease_is_over(open_ledger):
    """M150: the slot comes back, the reservation does not."""
    one = profile(step_max=1, active_max=1)
    pass_lease(open_ledger, admit(open_ledger, request(profile=one)))

    with pytest.raises(errors.StepQuotaExhausted):
        admit(open_ledger, request(profile=one))


def test_admit_keeps_a_steps_count_when_it_is_executed_again(open_ledger):
    """M151: a logical step of a top-level run finds its count, whoever executes it; another run's step is another."""
    save_project(open_ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a", "b")), actor="tests")
    one = profile(step_max=1, active_max=9)
    _spend(open_ledger, one, run="r1", step="s", agent="a")

    with pytest.raises(errors.StepQuotaExhausted):
        admit(open_ledger, request(profile=one, run="r1", step="s", agent="b"))
    assert isinstance(admit(open_ledger, request(profile=one, run="r1", step="t")), Lease)
    assert isinstance(admit(open_ledger, request(profile=one, run="r2", step="s")), Lease)


def test_admit_shares_a_runs_count_when_its_children_spend(open_ledger):
    """M143: the run is shared by all its steps and agents."""
    save_project(open_ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a", "b")), actor="tests")
    two = profile(run_max=2)
    _spend(open_ledger, two, step="s1", agent="a")
    _spend(open_ledger, two, step="s2", agent="b")

    with pytest.raises(errors.RunQuotaExhausted):
        admit(open_ledger, request(profile=two, step="s3"))


def test_admit_counts_families_apart_when_both_are_used(open_ledger):
    """M146: a full fetch budget and a busy fetch slot leave search alone."""
    admit(open_ledger, request(profile=profile(step_max=1, run_max=1, active_max=1)))

    lease = admit(open_ledger, request(profile=replace(profile(family="search"), quota=SEARCH_QUOTA)))

    assert (lease.budget.step, lease.budget.run) == (19, 99)


@pytest.mark.parametrize(("maximum", "active"), [(3, 2), (3, 3), (1, 1)], ids=["under", "at", "M144-search"])
def test_admit_is_busy_from_the_call_over_the_maximum_when_all_are_active(open_ledger, maximum, active):
    """M144: `active` calls run; the next one is admitted only while it is within the maximum."""
    quota = profile(active_max=maximum)
    for _ in range(active):
        admit(open_ledger, request(profile=quota))

    if active < maximum:
        assert isinstance(admit(open_ledger, request(profile=quota)), Lease)
        return
    before = contents(open_ledger)
    with pytest.raises(errors.ProjectBusy) as refusal:
        admit(open_ledger, request(profile=quota))
    assert refusal.value.retryable
    assert 0 < refusal.value.facts["retry_after_seconds"] <= 45
    assert contents(open_ledger) == before  # M148


def test_admit_has_a_free_slot_again_when_a_call_has_ended(open_ledger):
    one = profile(active_max=1)
    settle(open_ledger, admit(open_ledger, request(profile=one)), failed())

    assert isinstance(admit(open_ledger, request(profile=one)), Lease)


def test_admit_keeps_projects_apart_when_one_is_busy(open_ledger):
    save_project(open_ledger, Project(id="q", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    one = profile(active_max=1)
    admit(open_ledger, request(profile=one))

    assert isinstance(admit(open_ledger, request(profile=one, project="q")), Lease)


@pytest.mark.parametrize(("first", "then", "more"), [(1, 3, 2), (3, 1, 0)], ids=["raised", "lowered"])
def test_admit_follows_the_maximum_when_it_changes(open_ledger, first, then, more):
    admit(open_ledger, request(profile=profile(active_max=first)))

    for _ in range(more):
        admit(open_ledger, request(profile=profile(active_max=then)))
    with pytest.raises(errors.ProjectBusy):
        admit(open_ledger, request(profile=profile(active_max=then)))


def test_admit_frees_a_dead_workers_slot_when_its_lease_ends_and_not_before(open_ledger):
    """M150, by the database's clock: the next lease begins after the end of the one before."""
    short = profile(active_max=1, lease_seconds=0.3)
    first = admit(open_ledger, request(profile=short))

    second = wait_until(lambda: _try_admit(open_ledger, request(profile=short)))

    assert second.admitted_at >= first.until


@pytest.mark.parametrize(
    ("next_start_in", "admitted"), [("100 ms", False), ("0 ms", True), ("-100 ms", True)], ids=["1.9s", "2.0s", "2.1s"]
)
def test_admit_keeps_the_gap_when_starts_follow_each_other(open_ledger, next_start_in, admitted):
    """M145: 1.9 s, 2.0 s and 2.1 s after the start before."""
    search = replace(profile(family="search"), quota=SEARCH_QUOTA)
    first = admit(open_ledger, request(profile=search))
    [[gap]] = run_sql(open_ledger, "SELECT next_at - (:at)::timestamptz FROM pacing", at=first.admitted_at)
    settle(open_ledger, first, failed())
    run_sql(open_ledger, "UPDATE pacing SET next_at = clock_timestamp() + (:d)::interval", d=next_start_in)

    assert timedelta(seconds=1.9) < gap <= timedelta(seconds=2)
    if admitted:
        assert isinstance(admit(open_ledger, request(profile=search)), Lease)
        return
    before = contents(open_ledger)
    with pytest.raises(errors.Cooldown) as refusal:
        admit(open_ledger, request(profile=search))
    assert 0 < refusal.value.facts["retry_after_seconds"] <= 0.1
    assert contents(open_ledger) == before  # M148


def test_admit_gives_the_same_lease_when_the_same_delivery_asks_again(open_ledger):
    """The reply to the first was lost: one reservation, one slot, one lease."""
    one = request(profile=profile(active_max=1, step_max=1))
    first = admit(open_ledger, one)
    before = contents(open_ledger)

    again = admit(open_ledger, one)

    assert replace(again, seconds_left=first.seconds_left) == first
    assert contents(open_ledger) == before


def test_admit_names_the_running_task_when_another_delivery_asks(open_ledger):
    first = request(key="c")
    lease = admit(open_ledger, first)

    answer = admit(open_ledger, request(key="c"))

    assert isinstance(answer, Running)
    assert (answer.operation_id, answer.task_id) == (lease.operation_id, first.task_id)
    assert 0 < answer.seconds_left <= 45


@pytest.mark.parametrize(
    "difference", [{"arguments_digest": "b" * 64}, {"tool": "web_search"}], ids=["arguments", "tool"]
)
@pytest.mark.parametrize("ended", [False, True])
def test_admit_finds_a_conflict_when_the_call_id_comes_with_other_words(open_ledger, difference, ended):
    lease = admit(open_ledger, request(key="c"))
    if ended:
        settle(open_ledger, lease, failed())
    before = contents(open_ledger)

    with pytest.raises(errors.CallConflict):
        admit(open_ledger, request(key="c", **difference))

    assert contents(open_ledger) == before


def test_admit_tells_projects_apart_when_they_use_the_same_call_id(open_ledger):
    save_project(open_ledger, Project(id="q", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    admit(open_ledger, request(key="c"))

    assert isinstance(admit(open_ledger, request(key="c", project="q", arguments_digest="b" * 64)), Lease)


def test_admit_answers_from_the_receipt_when_the_call_has_ended(open_ledger):
    """Also without permission, quota or slot: nothing is sent, and no text is kept."""
    one = profile(step_max=1, active_max=1)
    stored = settle(open_ledger, admit(open_ledger, request(profile=one, key="c")), failed())
    save_project(open_ledger, Project(id="p"), actor="tests")

    assert admit(open_ledger, request(profile=one, key="c")) == stored


@pytest.mark.parametrize("same_owner", [False, True])
def test_admit_writes_the_end_as_unknown_when_the_lease_is_over(open_ledger, same_owner):
    """Never a second lease, not even for the owner of the first."""
    first = request(key="c")
    pass_lease(open_ledger, admit(open_ledger, first))

    answer = admit(open_ledger, first if same_owner else request(key="c"))

    assert isinstance(answer, Stored)
    assert (answer.state, answer.code, answer.sent) == (
        OperationState.OUTCOME_UNKNOWN,
        errors.OutcomeUnknown.code,
        "unknown",
    )


@pytest.mark.parametrize("key", ["nul\0", "half\ud800", "k" * 513], ids=["nul", "surrogate", "long"])
def test_admit_refuses_a_foreign_task_id_when_it_cannot_be_stored(open_ledger, key):
    with pytest.raises(errors.InvalidArguments) as refusal:
        admit(open_ledger, request(key=key))

    assert key not in str(refusal.value)


def test_operations_hold_nothing_but_the_permitted_columns_when_listed(ledger):
    """M154: identifiers, operation, timestamps, lease and completion state, digest."""
    rows = run_sql(ledger, "SELECT attname FROM pg_attribute WHERE attrelid = 'operations'::regclass AND attnum > 0")

    assert {name for (name,) in rows} == {
        *("id", "project", "key", "agent", "run", "step", "task_id", "owner"),  # identifiers
        *("tool", "family", "arguments_digest"),  # the operation
        *("admitted_at", "lease_until", "ended_at", "accepted_at", "accept_until", "post_at"),  # timestamps
        *("generation", "slot", "state", "code", "sent"),  # lease and completion
    }


def _spend(engine, quota, **names):
    lease = admit(engine, request(profile=quota, **names))
    settle(engine, lease, failed())
    return lease.budget


def _try_admit(engine, one):
    try:
        return admit(engine, one)
    except errors.ProjectBusy:
        return None
