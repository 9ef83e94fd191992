"""Truth-analysis runs: forward only, ended once, thirty minutes, and what a run permits."""

from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from sqlalchemy.exc import DBAPIError

from broker.ledger.chains import read_chain
from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, settle
from broker.ledger.truth_folders import import_folder, open_folder
from broker.ledger.truth_runs import complete_run, end_overdue, end_run, move_run, prepare_run, read_output, read_run
from schemas import errors
from schemas.findings import verify
from schemas.folder import Claim, Folder
from schemas.operation import Lease, Running
from schemas.truth import Output, RunState
from tests.ledger_calls import ending, failed, request, run_sql
from tests.truth_runs import age, draft, fetch_request, stored, tamper
from workers.truth.submission import account

STATES = ("prepared", "launching", "running", "completed", "unavailable", "failed")
FORWARD = {
    ("prepared", "launching"), ("launching", "running"), ("running", "completed"),
    *((state, end) for state in ("prepared", "launching", "running") for end in ("unavailable", "failed")),
}  # fmt: skip


MOVE = "UPDATE truth_runs SET state = :s, code = :c, ended_at = CASE WHEN :e THEN clock_timestamp() END WHERE id = :id"


def ends(state):
    """What a row in this state holds."""
    return {"s": state, "c": "x" if state in STATES[4:] else None, "e": state in STATES[3:]}


def output(body: str = "{}", submission: str = "b" * 64) -> Output:
    return Output(body=body, sha256="c" * 64, submission_sha256=submission)


def complete(engine, run, number=0):
    """Complete the run with an output that tells the number."""
    one = request(key=f"{run.id}/submit", run=run.id)
    told = output(f'{{"n":{number}}}')
    return complete_run(engine, run.id, told, one, account(one, run, told))


def moves(engine, run):
    return [
        tuple(row)
        for row in run_sql(engine, "SELECT state, code FROM truth_moves WHERE run = :r ORDER BY at", r=run.id)
    ]


@pytest.fixture
def crowded(ledger_url):
    """Runs work on many connections that are open already."""
    engine = ledger_engine(ledger_url, size=100)

    def run(work, size):
        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(lambda number: work(engine, number), range(size)))

    yield run
    engine.dispose()


@pytest.mark.parametrize("came_from", STATES)
def test_run_only_moves_forward(ledger, came_from):
    """M10: every pair of states, tried by a plain UPDATE; no state is left out and none comes twice."""
    for to in STATES:
        run = stored(ledger, "prepared")
        tamper(ledger, MOVE, id=run.id, **ends(came_from))
        if (came_from, to) in FORWARD:
            run_sql(ledger, MOVE, id=run.id, **ends(to))
            assert read_run(ledger, run.id).state == to
        else:
            with pytest.raises(DBAPIError, match="row_is_final"):
                run_sql(ledger, MOVE, id=run.id, **ends(to))
            assert read_run(ledger, run.id).state == came_from


def test_state_outside_the_six_is_refused_by_the_table(ledger):
    """M10"""
    run = stored(ledger, "prepared")
    with pytest.raises(DBAPIError) as refused:
        tamper(ledger, "UPDATE truth_runs SET state = 'paused' WHERE id = :id", id=run.id)
    assert isinstance(refused.value.orig, psycopg2.errors.CheckViolation)


@pytest.mark.parametrize("column", ["passage", "session", "context_sha256", "deadline_at", "selector", "snapshot"])
def test_what_a_run_was_prepared_with_never_changes(ledger, column):
    """M16, M17: the passage is immutable, and so is everything beside it."""
    run = stored(ledger)
    value = {"deadline_at": "deadline_at + interval '1 hour'", "snapshot": "snapshot + 1"}.get(
        column, f"{column} || 'x'"
    )
    with pytest.raises(DBAPIError, match="row_is_final"):
        run_sql(ledger, f"UPDATE truth_runs SET {column} = {value} WHERE id = :id", id=run.id)  # noqa: S608 - constants


@pytest.mark.parametrize("state", ["prepared", "launching", "running"])
@pytest.mark.parametrize(
    ("seconds", "overdue"),
    [
        pytest.param(1_795, False, id="under-by-more-than-this-machine-dawdles"),
        pytest.param(1_800, True, id="at"),
        pytest.param(1_801, True, id="over"),
    ],
)
def test_run_is_ended_by_being_looked_at_from_its_thirtieth_minute_on(ledger, state, seconds, overdue):
    """M11, M12"""
    run = stored(ledger, state)
    age(ledger, run.id, seconds)

    found = read_run(ledger, run.id)

    assert (found.deadline_at - found.created_at).total_seconds() == 1_800
    assert (found.state, found.code) == (("failed", "execution_deadline_exceeded") if overdue else (state, None))


def test_overdue_run_is_ended_once_when_100_look_at_once(ledger, crowded):
    """M12, M13: exactly one transition, seen by all; what folders hold is untouched."""
    import_folder(ledger, "p", "f", Folder())
    run = stored(ledger)
    age(ledger, run.id, 1_800)

    found = crowded(lambda engine, number: end_overdue(engine) if number % 10 == 0 else read_run(engine, run.id), 100)

    assert {one.code for one in found if not isinstance(one, int)} == {"execution_deadline_exceeded"}
    assert moves(ledger, run)[-1] == ("failed", "execution_deadline_exceeded")
    assert [state for state, _ in moves(ledger, run)] == ["prepared", "launching", "running", "failed"]
    assert run_sql(ledger, "SELECT count(*) FROM truth_folders") == [(1,)]


def test_finalization_ends_what_nobody_looks_at(ledger):
    """M12: overdue runs alone, whatever living state they are in."""
    late = [stored(ledger, state) for state in ("prepared", "launching", "running")]
    stored(ledger)
    for run in late:
        age(ledger, run.id, 1_800)

    assert (end_overdue(ledger), end_overdue(ledger)) == (3, 0)
    assert run_sql(ledger, "SELECT count(*) FROM truth_runs WHERE state = 'failed'") == [(3,)]


def test_overdue_run_cannot_be_completed_or_moved(ledger):
    """M14: also where nobody has ended it yet."""
    running, waiting = stored(ledger), stored(ledger, "prepared")
    for run in (running, waiting):
        age(ledger, run.id, 1_800)

    assert not complete(ledger, running)
    assert not move_run(ledger, waiting.id, RunState.PREPARED, RunState.LAUNCHING)


def test_one_of_many_outputs_completes_the_run(ledger, crowded):
    """M74, M80: 40 race with different outputs; one output, one end, no row of any folder."""
    run = stored(ledger)

    won = crowded(lambda engine, number: complete(engine, run, number), 40)

    assert sum(won) == 1
    assert read_output(ledger, run.id).body == f'{{"n":{won.index(True)}}}'
    assert moves(ledger, run)[-1] == ("completed", None)
    assert run_sql(ledger, "SELECT count(*) FROM truth_folders") == [(0,)]
    chain = read_chain(ledger, "p", run.id)
    assert (len(chain.links), verify(chain)) == (1, ())
    assert not end_run(ledger, run.id, RunState.FAILED, "cancelled")


@pytest.mark.parametrize("statement", ["UPDATE truth_outputs SET body = ''", "DELETE FROM truth_outputs"])
def test_output_is_final(ledger, statement):
    """M74"""
    run = stored(ledger)
    assert complete(ledger, run)
    with pytest.raises(DBAPIError, match="row_is_final"):
        run_sql(ledger, statement)


def test_prepare_knows_its_call_again(ledger):
    """A repeat is the same run; another run under the same call is a conflict, and leaves nothing."""
    run = draft()
    first = prepare_run(ledger, run, "call-1")

    assert prepare_run(ledger, run, "call-1") == first
    with pytest.raises(errors.CallConflict):
        prepare_run(ledger, draft(arguments_digest="b" * 64), "call-1")
    assert run_sql(ledger, "SELECT count(*) FROM truth_runs") == [(1,)]


@pytest.mark.parametrize(
    ("state", "seconds", "refusal"),
    [
        ("prepared", 0, errors.RunTerminal),
        ("launching", 0, errors.RunTerminal),
        ("failed", 0, errors.RunTerminal),
        ("running", 1_800, errors.ExecutionDeadlineExceeded),
    ],
)
def test_run_that_does_not_run_admits_nothing(ledger, state, seconds, refusal):
    """M14, M15: judged in the admission's own transaction, and nothing is left behind."""
    run = stored(ledger, state)
    age(ledger, run.id, seconds)

    with pytest.raises(refusal):
        admit(ledger, fetch_request(run, "h1"))

    for table in ("operations", "slots", "counters"):
        assert run_sql(ledger, f"TABLE {table}") == []


def test_running_run_admits_without_any_setting_of_its_project(ledger):
    """The run is the permission; and no save of settings withholds what it found (decision 0015)."""
    run = stored(ledger)

    lease = admit(ledger, fetch_request(run, "h1"))

    assert isinstance(lease, Lease)
    assert settle(ledger, lease, ending()).state == "completed"


def test_sixth_hit_of_50_that_race_is_refused(ledger, crowded):
    """M42: five are admitted, whoever comes first; failures count."""
    run = stored(ledger)

    def race(engine, number):
        while True:
            try:
                lease = admit(engine, fetch_request(run, f"h{number}"), patience_seconds=60)
            except errors.ProjectBusy:
                continue
            except (errors.StepQuotaExhausted, errors.RunQuotaExhausted):
                return 0
            settle(engine, lease, failed(), patience_seconds=60)
            return 1

    assert sum(crowded(race, 50)) == 5


def test_one_of_50_deliveries_of_one_hit_is_admitted(ledger, crowded):
    """M45: one lease; the others hear who runs."""
    run = stored(ledger)

    found = crowded(lambda engine, _: admit(engine, fetch_request(run, "h1"), patience_seconds=60), 50)

    assert sum(isinstance(one, Lease) for one in found) == 1
    assert sum(isinstance(one, Running) for one in found) == 49


def test_folder_keeps_a_snapshot_for_each_import_and_none_for_a_repeat(ledger, crowded):
    """M16, M18: a run reads what it was prepared with, whatever is imported later."""
    claim = Claim(claim_id="c1", proposition="It is basalt.", claim_kind="factual")
    store = open_folder(ledger, "p", "f")
    assert (store.newest(), store.read(0)) == (0, Folder())
    assert [import_folder(ledger, "p", "f", Folder(claims=(claim,))) for _ in range(2)] == [1, 1]

    changed = [claim.model_copy(update={"scope": f"s{number}"}) for number in range(20)]
    numbers = crowded(lambda engine, number: import_folder(engine, "p", "f", Folder(claims=(changed[number],))), 20)

    assert sorted(numbers) == list(range(2, 22))
    assert store.newest() == 21
    assert store.read(1).claims == (claim,)
    assert store.read(numbers[3]).claims == (changed[3],)


def test_altered_snapshot_is_not_read(ledger):
    """M28"""
    import_folder(ledger, "p", "f", Folder())
    tamper(ledger, "UPDATE truth_folders SET body = replace(body, 'claims', 'claimz')")
    with pytest.raises(errors.ContextChanged):
        open_folder(ledger, "p", "f").read(1)
