"""Overview: what a reader sees of operations."""

import pytest

from broker.ledger.operations import admit, find_ended, settle
from broker.ledger.overview import Counts, read_counts, read_operation
from broker.ledger.receipts import read_receipt
from schemas.operation import OperationState
from tests.ledger_calls import ending, failed, pass_lease, profile, request, run_sql


def test_operation_shows_who_asked_when_it_is_read(open_ledger):
    one = request(run="r1", step="s1")
    lease = admit(open_ledger, one)

    view = read_operation(open_ledger, lease.operation_id)

    assert (view.project, view.agent, view.run, view.step) == ("p", "a", "r1", "s1")
    assert (view.key, view.tool, view.task_id, view.state) == (
        one.key,
        "web_fetch",
        one.task_id,
        OperationState.PENDING,
    )
    assert (view.admitted_at, view.lease_until, view.ended_at) == (lease.admitted_at, lease.until, None)


def test_operation_is_finalized_when_it_is_read_past_its_lease(open_ledger):
    lease = admit(open_ledger, request())
    pass_lease(open_ledger, lease)

    view = read_operation(open_ledger, lease.operation_id)

    assert (view.state, view.code, view.sent) == (OperationState.OUTCOME_UNKNOWN, "research_outcome_unknown", "unknown")
    assert read_receipt(open_ledger, lease.operation_id) is not None


@pytest.mark.parametrize("unknown", ["6a1f1f0e-0000-4000-8000-000000000000", "no id", "", "'; --", "nul\0"])
def test_reading_gives_nothing_when_there_is_no_such_operation(open_ledger, unknown):
    assert read_operation(open_ledger, unknown) is None
    assert read_receipt(open_ledger, unknown) is None
    assert find_ended(open_ledger, "p", unknown.replace("\0", "")) is None


def test_receipt_is_not_there_when_the_operation_is_pending(open_ledger):
    lease = admit(open_ledger, request(key="c"))

    assert read_receipt(open_ledger, lease.operation_id) is None
    assert find_ended(open_ledger, "p", "c") is None


def test_counts_are_empty_when_nothing_happened(ledger):
    assert read_counts(ledger) == Counts(pending=0, stale=0, ended={})


def test_counts_tell_pending_stale_and_the_last_hours_ends_when_there_are_some(open_ledger):
    many = profile(active_max=10)
    leases = [admit(open_ledger, request(profile=many)) for _ in range(6)]
    settle(open_ledger, leases[0], ending())
    settle(open_ledger, leases[1], ending())
    settle(open_ledger, leases[2], failed())
    pass_lease(open_ledger, leases[3])
    _end_long_ago(open_ledger, leases[4])

    assert read_counts(open_ledger) == Counts(
        pending=2, stale=1, ended={OperationState.COMPLETED: 2, OperationState.FAILED: 1}
    )


def _end_long_ago(engine, lease):
    run_sql(
        engine,
        "UPDATE operations SET state = 'completed', sent = 'sent', admitted_at = admitted_at - interval '3 hours', "
        "ended_at = clock_timestamp() - interval '61 minutes' WHERE id = :id",
        id=lease.operation_id,
    )
