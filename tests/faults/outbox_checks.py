"""Promises of the real outbox that show seldom, or under a race: each a short play with one ending."""

from dataclasses import replace
from uuid import uuid4

import pytest

from broker.ledger.operations import ADMIT, _request_values, admit, find_ended, settle
from broker.ledger.outbox import END, accept, claim_posts, end_accepted, expire_accepted
from schemas import errors
from schemas.operation import Accepted, OperationState, Running, Stored
from tests.faults.ledger_checks import race
from tests.ledger_calls import failed, request
from tests.outbox_calls import SEALED, accepted, make_late


def a_worker_who_waited_for_a_client_is_told_that_the_call_is_taken_back(engine):
    """Whoever comes first to an accepted call; the other is told."""
    operation_id, one = accepted(engine)
    end = (operation_id, "cancelled", "cancelled", "Never mind.", "{}")

    stored = race(engine, END, end, admit, one)

    assert isinstance(stored, Stored)
    assert stored.state is OperationState.CANCELLED


def a_client_who_waited_for_a_worker_cannot_take_back(engine):
    operation_id, one = accepted(engine)
    gone = errors.Cancelled("Never mind.")

    found = race(engine, ADMIT, _request_values(one), end_accepted, operation_id, OperationState.CANCELLED, gone)

    assert isinstance(found, Running)


def a_client_who_waited_for_a_worker_is_told_that_the_call_runs(engine):
    """The call came from an orchestrator at the same instant: both meet before either writes."""
    one = request(key="c", task_id="t1")
    mine = request(key="c")

    found = race(engine, ADMIT, _request_values(one), accept, str(uuid4()), mine, SEALED)

    assert isinstance(found, Running)
    assert found.task_id == "t1"


def a_late_call_is_not_admitted(engine):
    """What waited too long is refused, and not carried out for a caller who has left."""
    operation_id, one = accepted(engine)
    make_late(engine, operation_id)

    stored = admit(engine, one)

    assert isinstance(stored, Stored)
    assert stored.state is OperationState.REFUSED


def an_accepted_call_is_admitted_with_its_own_arguments_alone(engine):
    _, one = accepted(engine)

    with pytest.raises(errors.CallConflict):
        admit(engine, replace(one, arguments_digest="b" * 64))


def an_acceptance_is_known_again_however_far_it_came(engine):
    """The reply was lost: the client repeats itself, and must not take its own call for somebody else's."""
    operation_id, one = accepted(engine)
    lease = admit(engine, one)
    assert isinstance(accept(engine, operation_id, one, SEALED), Accepted)
    settle(engine, lease, failed())

    assert isinstance(accept(engine, operation_id, one, SEALED), Accepted)


def a_sweeper_ends_what_is_late(engine):
    for _ in range(2):
        make_late(engine, accepted(engine)[0])

    assert [expire_accepted(engine) for _ in range(2)] == [2, 0]


def a_reader_ends_what_is_late(engine):
    operation_id, one = accepted(engine)
    make_late(engine, operation_id)

    stored = find_ended(engine, "p", one.key)

    assert isinstance(stored, Stored)
    assert stored.state is OperationState.REFUSED


def a_message_is_due_in_its_time_and_once(engine):
    """A copy is posted when the first had its time, and the next copy has its own."""
    operation_id, _ = accepted(engine)
    early = claim_posts(engine)
    make_late(engine, operation_id, minutes=1)

    assert early == ()
    assert [len(claim_posts(engine)) for _ in range(2)] == [1, 0]


CHECKS = (
    a_worker_who_waited_for_a_client_is_told_that_the_call_is_taken_back,
    a_client_who_waited_for_a_worker_cannot_take_back,
    a_client_who_waited_for_a_worker_is_told_that_the_call_runs,
    a_late_call_is_not_admitted,
    an_accepted_call_is_admitted_with_its_own_arguments_alone,
    an_acceptance_is_known_again_however_far_it_came,
    a_sweeper_ends_what_is_late,
    a_reader_ends_what_is_late,
    a_message_is_due_in_its_time_and_once,
)
