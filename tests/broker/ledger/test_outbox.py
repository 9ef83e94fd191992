"""The outbox's law: every accepted call ends once, whoever opens, sweeps or takes back (M119, M148, M154)."""

import json
from base64 import b64encode
from hashlib import sha256
from uuid import uuid4

import pytest
import rfc8785
import sqlalchemy.exc

from broker.ledger.operations import admit, finalize_stale, find_ended, settle
from broker.ledger.outbox import (
    accept,
    claim_posts,
    end_accepted,
    expire_accepted,
    open_accepted,
    postpone,
)
from broker.ledger.overview import read_counts, read_operation
from broker.ledger.projects import Project, save_project
from broker.ledger.receipts import read_receipt
from schemas import errors
from schemas.operation import Accepted, Lease, OperationState, Running, Sealed, Stored
from tests.ledger_calls import contents, ending, failed, pass_lease, profile, request, run_sql
from tests.outbox_calls import SEALED, accepted, kept_requests, make_late, state_of

REFUSED, CANCELLED = OperationState.REFUSED, OperationState.CANCELLED
GONE = errors.Cancelled("The call was cancelled before it began.")


def test_accepted_call_has_no_lease_no_slot_and_no_reservation(open_ledger):
    before = contents(open_ledger)

    operation_id, one = accepted(open_ledger)

    view = read_operation(open_ledger, operation_id)
    assert (view.state, view.key, view.admitted_at, view.lease_until, view.ended_at) == (
        OperationState.ACCEPTED,
        one.key,
        None,
        None,
        None,
    )
    assert {name: len(rows) - len(before[name]) for name, rows in contents(open_ledger).items()} == {
        "operations": 1,
        "requests": 1,
        "receipts": 0,
        "slots": 0,
        "pacing": 0,
        "counters": 0,
    }
    assert read_counts(open_ledger).accepted == 1
    assert find_ended(open_ledger, "p", one.key) is None


def test_acceptance_is_the_same_one_when_its_client_repeats_it(open_ledger):
    operation_id, one = accepted(open_ledger)
    before = contents(open_ledger)

    assert accept(open_ledger, operation_id, one, SEALED) == Accepted(operation_id=operation_id, task_id=one.task_id)
    assert contents(open_ledger) == before


def test_call_is_answered_from_the_ledger_when_it_is_submitted_again(open_ledger):
    operation_id, one = accepted(open_ledger)
    again = request(key=one.key)

    found = accept(open_ledger, str(uuid4()), again, SEALED)
    assert isinstance(found, Running)
    assert (found.operation_id, found.task_id) == (operation_id, one.task_id)
    with pytest.raises(errors.CallConflict):
        accept(open_ledger, str(uuid4()), request(key=one.key, arguments_digest="b" * 64), SEALED)
    lease = admit(open_ledger, one)
    assert isinstance(accept(open_ledger, str(uuid4()), again, SEALED), Running)
    stored = settle(open_ledger, lease, failed())
    assert accept(open_ledger, str(uuid4()), again, SEALED) == stored
    assert kept_requests(open_ledger) == []


def test_call_is_not_accepted_when_a_raw_delivery_was_first(open_ledger):
    one = request()
    lease = admit(open_ledger, one)

    assert isinstance(accept(open_ledger, str(uuid4()), request(key=one.key), SEALED), Running)
    stored = settle(open_ledger, lease, ending())
    assert accept(open_ledger, str(uuid4()), request(key=one.key), SEALED) == stored
    assert kept_requests(open_ledger) == []


def test_opening_gives_the_sealed_request_and_who_asks(open_ledger):
    operation_id, one = accepted(open_ledger)

    found = open_accepted(open_ledger, operation_id, "web_fetch", one.task_id)

    assert isinstance(found, Sealed)
    assert found.sealed == SEALED
    assert found.binding.operation_id == operation_id
    assert (found.binding.project, found.binding.key, found.binding.agent) == ("p", one.key, "a")
    assert (found.binding.run, found.binding.step, found.binding.arguments_digest) == ("r", "s", "a" * 64)
    assert 0 <= found.waited_seconds < 60


@pytest.mark.parametrize(
    ("tool", "task_id", "known"),
    [("other", None, True), ("web_fetch", "another-task", True), ("web_fetch", None, False)],
    ids=["another-tool", "another-task", "unknown-id"],
)
def test_opening_finds_nothing_when_id_tool_and_task_do_not_belong_together(open_ledger, tool, task_id, known):
    operation_id, one = accepted(open_ledger)
    wanted = operation_id if known else str(uuid4())

    assert open_accepted(open_ledger, wanted, tool, task_id or one.task_id) is None


def test_opening_finds_nothing_when_the_call_was_never_accepted(open_ledger):
    one = request()
    lease = admit(open_ledger, one)

    assert open_accepted(open_ledger, lease.operation_id, "web_fetch", one.task_id) is None


def test_accepted_call_becomes_pending_when_its_own_task_is_admitted(open_ledger):
    operation_id, one = accepted(open_ledger)

    lease = admit(open_ledger, one)

    assert isinstance(lease, Lease)
    assert (lease.operation_id, state_of(open_ledger, operation_id)) == (operation_id, "pending")
    assert kept_requests(open_ledger) == [operation_id]
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(1,), (1,)]
    assert run_sql(open_ledger, "SELECT operation_id::text FROM slots WHERE until > now()") == [(operation_id,)]
    assert admit(open_ledger, one) == lease or admit(open_ledger, one).until == lease.until  # a lost reply


def test_accepted_call_is_left_alone_when_another_task_brings_it(open_ledger):
    operation_id, one = accepted(open_ledger)

    found = admit(open_ledger, request(key=one.key))

    assert isinstance(found, Running)
    assert (found.task_id, state_of(open_ledger, operation_id)) == (one.task_id, "accepted")
    assert run_sql(open_ledger, "SELECT count(*) FROM counters") == [(0,)]


def test_admission_counts_for_who_was_accepted_when_the_delivery_says_another(open_ledger):
    operation_id, one = accepted(open_ledger)

    lease = admit(open_ledger, request(key=one.key, task_id=one.task_id, run="other", step="other"))

    assert lease.operation_id == operation_id
    assert sorted(run_sql(open_ledger, "SELECT name FROM counters")) == [("r",), ("r/s",)]


@pytest.mark.parametrize("state", ["completed", "failed", "cancelled"])
def test_request_is_gone_when_the_call_is_settled(open_ledger, state):
    """M119, M154: in the transaction that ends it."""
    operation_id, one = accepted(open_ledger)
    lease = admit(open_ledger, one)

    settle(open_ledger, lease, ending(state, code=None if state == "completed" else "cancelled"))

    assert (kept_requests(open_ledger), state_of(open_ledger, operation_id)) == ([], state)


def test_request_is_gone_when_the_call_is_finalized(open_ledger):
    operation_id, one = accepted(open_ledger)
    pass_lease(open_ledger, admit(open_ledger, one))

    assert finalize_stale(open_ledger) == 1

    assert (kept_requests(open_ledger), state_of(open_ledger, operation_id)) == ([], "outcome_unknown")
    found = open_accepted(open_ledger, operation_id, "web_fetch", one.task_id)
    assert isinstance(found, Stored)
    assert found.state is OperationState.OUTCOME_UNKNOWN


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (REFUSED, errors.CapabilityDisabled("The project does not have this capability switched on.")),
        (REFUSED, errors.StepQuotaExhausted("The step has used all its reservations.", limit=40)),
        (REFUSED, errors.ProjectBusy("All in use.", retry_after_seconds=0.125, active_max=3)),
        (REFUSED, errors.InvalidArguments('quote " slash \\ tab \t ünïcode', field="url", reason=None)),
        (CANCELLED, GONE),
    ],
    ids=["disabled", "quota", "busy", "words", "cancelled"],
)
def test_accepted_call_ends_with_a_receipt_when_it_is_refused_or_taken_back(open_ledger, state, error):
    """Canonical JSON (RFC 8785) with the right digest, of a call for which nothing was sent."""
    operation_id, one = accepted(open_ledger)

    stored = end_accepted(open_ledger, operation_id, state, error)

    body = json.loads(stored.body)
    assert (stored.state, stored.code, stored.sent) == (state, error.code, "not_sent")
    assert body["error"] == {"code": error.code, "message": error.message, "facts": error.facts}
    assert (body["operation"], body["call"], body["hops"], body["state"]) == (operation_id, one.key, [], state.value)
    assert rfc8785.dumps(body).decode() == stored.body
    assert stored.digest == f"sha-256=:{b64encode(sha256(stored.body.encode()).digest()).decode()}:"
    assert kept_requests(open_ledger) == []
    assert read_receipt(open_ledger, operation_id) == stored
    assert end_accepted(open_ledger, operation_id, CANCELLED, GONE) == stored
    assert admit(open_ledger, one) == stored
    assert find_ended(open_ledger, "p", one.key) == stored
    assert read_counts(open_ledger).ended == {state: 1}


def test_call_is_not_taken_back_when_it_runs_or_is_not_known(open_ledger):
    operation_id, one = accepted(open_ledger)
    lease = admit(open_ledger, one)

    assert isinstance(end_accepted(open_ledger, operation_id, CANCELLED, GONE), Running)
    assert end_accepted(open_ledger, str(uuid4()), CANCELLED, GONE) is None
    assert settle(open_ledger, lease, ending()).state is OperationState.COMPLETED


REFUSALS = {
    "disabled": (lambda engine: save_project(engine, Project(id="p"), actor="t"), errors.CapabilityDisabled),
    "agent": (
        lambda engine: save_project(
            engine, Project(id="p", enabled=True, fetch_enabled=True, agents=("x",)), actor="t"
        ),
        errors.AgentNotPermitted,
    ),
    "step": (lambda engine: settle(engine, admit(engine, request()), failed()), errors.StepQuotaExhausted),
    "busy": (lambda engine: admit(engine, request(step="s2")), errors.ProjectBusy),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_accepted_call_stays_accepted_when_its_admission_is_refused(open_ledger, name):
    """M148: what was taken rolls back with the refusal; ending the call is a step of its own."""
    prepare, error = REFUSALS[name]
    quota = profile(step_max=1, run_max=2, active_max=1)
    prepare(open_ledger)
    operation_id, one = accepted(open_ledger, request(profile=quota))
    before = contents(open_ledger)
    before["slots"] = run_sql(open_ledger, "SELECT operation_id FROM slots WHERE until > now()")

    with pytest.raises(error):
        admit(open_ledger, one)

    after = contents(open_ledger)
    after["slots"] = run_sql(open_ledger, "SELECT operation_id FROM slots WHERE until > now()")
    assert after == before
    assert state_of(open_ledger, operation_id) == "accepted"


@pytest.mark.parametrize(
    "look",
    [
        lambda engine, _name, _one: expire_accepted(engine),
        lambda engine, _name, one: admit(engine, one),
        lambda engine, _name, one: find_ended(engine, "p", one.key),
        lambda engine, name, one: open_accepted(engine, name, "web_fetch", one.task_id),
        lambda engine, name, _one: read_operation(engine, name),
        lambda engine, _name, one: accept(engine, str(uuid4()), request(key=one.key), SEALED),
    ],
    ids=["sweeper", "delivery", "client", "worker", "reader", "repeat"],
)
def test_accepted_call_is_refused_when_its_time_is_over_and_anybody_looks(open_ledger, look):
    operation_id, one = accepted(open_ledger)
    make_late(open_ledger, operation_id)

    look(open_ledger, operation_id, one)

    stored = read_receipt(open_ledger, operation_id)
    assert (stored.state, stored.code, stored.sent) == (REFUSED, "not_admitted_in_time", "not_sent")
    assert rfc8785.dumps(json.loads(stored.body)).decode() == stored.body
    assert kept_requests(open_ledger) == []


def test_accepted_call_is_admitted_when_its_time_is_nearly_over(open_ledger):
    """The bound from below: nine of its ten minutes."""
    operation_id, one = accepted(open_ledger)
    make_late(open_ledger, operation_id, minutes=9)

    assert expire_accepted(open_ledger) == 0
    assert admit(open_ledger, one).operation_id == operation_id


def test_message_is_due_once_when_two_sweepers_look(open_ledger):
    """Oldest first; what was claimed is not due again until its next turn."""
    calls = [accepted(open_ledger) for _ in range(3)]
    assert claim_posts(open_ledger) == ()
    for minutes, (operation_id, _) in zip((1, 3, 2), calls, strict=True):
        make_late(open_ledger, operation_id, minutes=minutes)

    due = claim_posts(open_ledger, limit=2)
    rest = claim_posts(open_ledger)

    assert [post.operation_id for post in (*due, *rest)] == [calls[n][0] for n in (1, 2, 0)]
    assert [post.task_id for post in due] == [calls[n][1].task_id for n in (1, 2)]
    assert claim_posts(open_ledger) == ()


@pytest.mark.parametrize(("age", "pause"), [(12, 12), (30, 30), (300, 60)], ids=["young", "older", "longest"])
def test_copies_come_ever_later_when_a_call_waits_long(open_ledger, age, pause):
    operation_id, _one = accepted(open_ledger)
    run_sql(
        open_ledger,
        "UPDATE operations SET accepted_at = now() - make_interval(secs => :age), post_at = now()",
        age=age,
    )

    assert [post.operation_id for post in claim_posts(open_ledger, operation_id=operation_id)] == [operation_id]

    [[wait]] = run_sql(open_ledger, "SELECT extract(epoch FROM post_at - now())::integer FROM operations")
    assert abs(wait - pause) <= 3  # a shared machine may pause between the two statements


def test_nothing_is_due_when_a_call_is_put_off_pending_or_ended(open_ledger):
    put_off, running, ended = (accepted(open_ledger) for _ in range(3))
    for operation_id, _one in (put_off, running, ended):
        make_late(open_ledger, operation_id, minutes=2)
    assert postpone(open_ledger, put_off[0], 30)
    admit(open_ledger, running[1])
    end_accepted(open_ledger, ended[0], CANCELLED, GONE)

    assert claim_posts(open_ledger) == ()
    assert [postpone(open_ledger, call[0], 1) for call in (running, ended)] == [False, False]


FORBIDDEN = {
    "accepted-to-completed": ("accepted", "state = 'completed', sent = 'sent', ended_at = now()"),
    "accepted-to-unknown": ("accepted", "state = 'outcome_unknown', code = 'c', sent = 'unknown', ended_at = now()"),
    "pending-to-refused": ("pending", "state = 'refused', code = 'c', sent = 'not_sent', ended_at = now()"),
    "pending-to-accepted": ("pending", "state = 'accepted'"),
    "refused-to-accepted": ("refused", "state = 'accepted', code = NULL, sent = NULL, ended_at = NULL"),
    "refused-to-cancelled": ("refused", "state = 'cancelled'"),
    "refused-as-sent": ("accepted", "state = 'refused', code = 'c', sent = 'sent', ended_at = now()"),
    "refused-without-code": ("accepted", "state = 'refused', sent = 'not_sent', ended_at = now()"),
    "pending-without-lease": ("accepted", "state = 'pending'"),
    "accepted-with-a-slot": ("accepted", "slot = 1"),
    "accepted-with-an-end": ("accepted", "ended_at = now()"),
    "accepted-without-a-turn": ("accepted", "post_at = NULL"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_table_refuses_what_the_law_does_not_know_when_it_is_written_by_hand(open_ledger, name):
    state, assignment = FORBIDDEN[name]
    operation_id, one = accepted(open_ledger)
    if state == "pending":
        admit(open_ledger, one)
    if state == "refused":
        end_accepted(open_ledger, operation_id, REFUSED, errors.NotAdmitted("Late."))

    with pytest.raises(sqlalchemy.exc.DBAPIError):
        run_sql(open_ledger, f"UPDATE operations SET {assignment} WHERE id = :id", id=operation_id)  # noqa: S608 - constants above
    assert state_of(open_ledger, operation_id) == state
