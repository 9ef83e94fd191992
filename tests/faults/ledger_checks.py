"""Promises of the real ledger that show under a race, or with more than one family: each a short play with one ending.

Races are made by hand: the first transaction is held open until the second caller is seen to wait, or was answered.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy.exc
from sqlalchemy import text

from broker.ledger.operations import ADMIT, SETTLE, _request_values, admit, finalize_stale, find_ended, settle
from broker.ledger.projects import Project, read_project, save_project
from schemas import errors
from schemas.operation import Lease, OperationState, Running, Stored
from tests.ledger_calls import ending, failed, pass_lease, profile, request, run_sql, wait_until

BLOCKED = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
LOCK_ROW = "SELECT 1 FROM operations WHERE id = %s FOR UPDATE"
ONE_SLOT = profile(active_max=1)


def race(engine, statement, values, work, *arguments, meanwhile=lambda: None):
    """What the second caller got, who came before the first's statement was committed: an answer or an error's type."""
    with ThreadPoolExecutor(1) as pool:
        with engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
            connection.exec_driver_sql(statement, values)
            second = pool.submit(work, engine, *arguments)
            wait_until(lambda: second.done() or run_sql(engine, BLOCKED))
            meanwhile()
            connection.commit()
        error = second.exception(20)
        return second.result() if error is None else type(error)


def race_of_admissions(engine, first, second, **meanwhile):
    return race(engine, ADMIT, _request_values(first), admit, second, **meanwhile)


def settling(lease, end):
    return lease.operation_id, lease.owner, end.state.value, end.code, str(end.sent), end.body, end.digest


# Each check is given an empty ledger with the open project `p`, and passes on the ledger as it is.


def with_free_slots(engine, quota):
    """The quota's slots exist and are free: a new project's first racers would meet at the making of the rows."""
    settle(engine, admit(engine, request(profile=quota, run="r0")), failed())


def one_slot_is_never_given_to_two_racers(engine):
    """M144, M147."""
    with_free_slots(engine, ONE_SLOT)
    first, second = (request(profile=ONE_SLOT, run=run) for run in ("r1", "r2"))

    assert race_of_admissions(engine, first, second) is errors.ProjectBusy
    assert run_sql(engine, "SELECT count(*) FROM operations WHERE state = 'pending'") == [(1,)]


def a_full_project_is_busy(engine):
    """M144."""
    admit(engine, request(profile=ONE_SLOT))

    with pytest.raises(errors.ProjectBusy):
        admit(engine, request(profile=ONE_SLOT))


def nobody_waits_for_a_slot(engine):
    with_free_slots(engine, ONE_SLOT)
    first, second = (request(profile=ONE_SLOT, run=run) for run in ("r1", "r2"))
    waiting: list[object] = []

    race_of_admissions(engine, first, second, meanwhile=lambda: waiting.extend(run_sql(engine, BLOCKED)))

    assert waiting == []


def a_zombies_settle_leaves_the_slot_to_its_new_holder(engine):
    zombie = admit(engine, request(profile=ONE_SLOT))
    pass_lease(engine, zombie)
    admit(engine, request(profile=ONE_SLOT))
    settle(engine, zombie, ending())

    with pytest.raises(errors.ProjectBusy):
        admit(engine, request(profile=ONE_SLOT))


def a_steps_last_reservation_is_never_given_to_two_racers(engine):
    """M142, M147: both see one left; the second waits for the first, and finds none."""
    quota = profile(active_max=9, step_max=2)
    admit(engine, request(profile=quota))

    assert race_of_admissions(engine, request(profile=quota), request(profile=quota)) is errors.StepQuotaExhausted
    assert run_sql(engine, "SELECT max(used) FROM counters") == [(2,)]


def a_runs_last_reservation_is_never_given_to_two_racers(engine):
    """M143, M147: shared by the steps of the run."""
    quota = profile(active_max=9, run_max=2)
    admit(engine, request(profile=quota))
    first, second = (request(profile=quota, step=step) for step in ("s1", "s2"))

    assert race_of_admissions(engine, first, second) is errors.RunQuotaExhausted
    assert run_sql(engine, "SELECT max(used) FROM counters") == [(2,)]


def a_twin_is_told_who_runs_and_never_busy(engine):
    """Twins meet before any quota is looked at."""
    first, second = (request(profile=ONE_SLOT, key="c", task_id=task) for task in ("t1", "t2"))

    answer = race_of_admissions(engine, first, second)

    assert isinstance(answer, Running)
    assert answer.task_id == "t1"


def two_racers_start_a_gap_apart(engine):
    """M145."""
    quota = profile(active_max=9, gap_seconds=60)
    first, second = (request(profile=quota, run=run) for run in ("r1", "r2"))

    assert race_of_admissions(engine, first, second) is errors.Cooldown


def a_start_within_the_gap_is_refused(engine):
    """M145."""
    quota = profile(active_max=9, gap_seconds=60)
    admit(engine, request(profile=quota))

    with pytest.raises(errors.Cooldown):
        admit(engine, request(profile=quota))


def a_settle_that_waited_sees_the_save(engine):
    """M139: the settings are read after the row's lock."""
    lease = admit(engine, request())

    def save():
        save_project(engine, read_project(engine, "p"), actor="tests")

    answer = race(engine, LOCK_ROW, (lease.operation_id,), settle, lease, ending(), meanwhile=save)

    assert answer is errors.SettingsChanged


def two_endings_of_one_lease_are_one_end(engine):
    """X1: the second waits for the first, and is given what the first wrote."""
    lease = admit(engine, request())
    first, second = ending(n=1), ending(n=2)

    stored = race(engine, SETTLE, settling(lease, first), settle, lease, second)

    assert isinstance(stored, Stored)
    assert stored.digest == first.digest


def a_reader_who_waited_for_a_settle_is_given_its_end(engine):
    """X2: the lease was over, the settle came first, and the reader's finalization finds nothing to do."""
    lease = admit(engine, request(key="c"))
    pass_lease(engine, lease)
    end = ending()

    stored = race(engine, SETTLE, settling(lease, end), find_ended, "p", "c")

    assert isinstance(stored, Stored)
    assert stored.digest == end.digest


def a_zombie_who_waited_for_a_finalizer_is_given_the_unknown_end(engine):
    """X2: the other way round."""
    lease = admit(engine, request(key="c"))
    pass_lease(engine, lease)

    stored = race(engine, "SELECT ledger_finalize_stale(9)", (), settle, lease, ending())

    assert isinstance(stored, Stored)
    assert stored.state is OperationState.OUTCOME_UNKNOWN
    assert find_ended(engine, "p", "c") == stored


def a_finalizer_passes_by_what_others_hold(engine):
    quota = profile(active_max=9)
    held, free = (admit(engine, request(profile=quota)) for _ in range(2))
    pass_lease(engine, held)
    pass_lease(engine, free)

    def finalize(engine_):
        return finalize_stale(engine_, patience_seconds=0.1)

    assert race(engine, LOCK_ROW, (held.operation_id,), finalize) == 1
    assert run_sql(engine, "SELECT count(*) FROM operations WHERE state = 'pending'") == [(1,)]


def a_lowered_maximum_leaves_the_upper_slots_unused(engine):
    for _ in range(3):
        settle(engine, admit(engine, request(profile=profile(active_max=3))), failed())
    admit(engine, request(profile=ONE_SLOT))

    with pytest.raises(errors.ProjectBusy):
        admit(engine, request(profile=ONE_SLOT))


def families_have_counts_of_their_own(engine):
    """M146."""
    small = {"step_max": 1, "run_max": 1, "active_max": 1}
    admit(engine, request(profile=profile(**small)))

    assert isinstance(admit(engine, request(profile=profile(family="search", **small))), Lease)


def families_have_slots_of_their_own(engine):
    """M146: a free slot of search is none for fetch."""
    with_free_slots(engine, profile(family="search", active_max=1))
    admit(engine, request(profile=ONE_SLOT))

    with pytest.raises(errors.ProjectBusy):
        admit(engine, request(profile=ONE_SLOT))


def exhausted_is_told_before_busy(engine):
    """A full counter never falls, so waiting for a slot would be in vain."""
    for maximum, refusal in (("step_max", errors.StepQuotaExhausted), ("run_max", errors.RunQuotaExhausted)):
        quota = profile(active_max=1, **{maximum: 1})
        first = admit(engine, request(profile=quota, run=maximum))
        with pytest.raises(refusal):
            admit(engine, request(profile=quota, run=maximum))
        settle(engine, first, failed())


def a_steps_count_is_its_runs_own(engine):
    """M151."""
    one = profile(active_max=9, step_max=1)
    admit(engine, request(profile=one, run="r1"))

    assert isinstance(admit(engine, request(profile=one, run="r2")), Lease)


def a_switched_off_project_admits_nothing(engine):
    save_project(engine, replace(read_project(engine, "p"), enabled=False), actor="tests")

    with pytest.raises(errors.CapabilityDisabled):
        admit(engine, request())


def an_admission_notes_the_settings_of_its_time(engine):
    """M139: else its own save would seem to have come later."""
    saved = save_project(engine, read_project(engine, "p"), actor="tests")

    assert admit(engine, request()).generation == saved.generation


def only_permitted_agents_are_admitted(engine):
    with pytest.raises(errors.AgentNotPermitted):
        admit(engine, request(agent="b"))


def fetch_has_a_switch_of_its_own(engine):
    """M132."""
    save_project(engine, Project(id="p", enabled=True, fetch_enabled=False, agents=("a",)), actor="tests")

    with pytest.raises(errors.CapabilityDisabled):
        admit(engine, request())


def ended_rows_refuse_every_change(engine):
    """X2: whatever role asks."""
    settle(engine, admit(engine, request()), ending())

    for statement in ("UPDATE operations SET state = 'failed', code = 'x'", "UPDATE receipts SET body = '{}'"):
        with pytest.raises(sqlalchemy.exc.DBAPIError), engine.connect() as connection:
            connection.execute(text(statement))


CHECKS = (
    one_slot_is_never_given_to_two_racers,
    a_full_project_is_busy,
    nobody_waits_for_a_slot,
    a_zombies_settle_leaves_the_slot_to_its_new_holder,
    a_steps_last_reservation_is_never_given_to_two_racers,
    a_runs_last_reservation_is_never_given_to_two_racers,
    a_twin_is_told_who_runs_and_never_busy,
    two_racers_start_a_gap_apart,
    a_start_within_the_gap_is_refused,
    a_settle_that_waited_sees_the_save,
    two_endings_of_one_lease_are_one_end,
    a_reader_who_waited_for_a_settle_is_given_its_end,
    a_zombie_who_waited_for_a_finalizer_is_given_the_unknown_end,
    a_finalizer_passes_by_what_others_hold,
    a_lowered_maximum_leaves_the_upper_slots_unused,
    families_have_counts_of_their_own,
    families_have_slots_of_their_own,
    exhausted_is_told_before_busy,
    a_steps_count_is_its_runs_own,
    a_switched_off_project_admits_nothing,
    an_admission_notes_the_settings_of_its_time,
    only_permitted_agents_are_admitted,
    fetch_has_a_switch_of_its_own,
    ended_rows_refuse_every_change,
)
