"""Settlement: the first end is the only end."""

import json

import pytest
import sqlalchemy.exc
from sqlalchemy import text

from broker.ledger.operations import admit, finalize_stale, find_ended, settle
from broker.ledger.projects import Project, read_project, save_project
from broker.ledger.receipts import read_receipt
from schemas import errors
from schemas.operation import OperationState
from schemas.receipt import canonical, digest_of
from tests.ledger_calls import contents, ending, failed, pass_lease, profile, request, run_sql


@pytest.mark.parametrize(
    "end",
    [ending(), failed(sent="not_sent"), ending("cancelled", code="cancelled"), ending("outcome_unknown", code="x")],
    ids=lambda end: end.state.value,
)
def test_settle_stores_the_ending_byte_for_byte_when_it_is_the_first(open_ledger, end):
    lease = admit(open_ledger, request(key="c"))

    stored = settle(open_ledger, lease, end)

    assert (stored.state, stored.code, stored.sent, stored.body, stored.digest) == (
        end.state,
        end.code,
        end.sent,
        end.body,
        end.digest,
    )
    assert read_receipt(open_ledger, lease.operation_id) == find_ended(open_ledger, "p", "c") == stored


def test_settle_frees_the_slot_when_the_call_ends(open_ledger):
    settle(open_ledger, admit(open_ledger, request()), ending())

    assert run_sql(open_ledger, "SELECT 1 FROM slots WHERE operation_id IS NOT NULL OR until > '-infinity'") == []


def test_settle_gives_the_stored_end_when_it_is_repeated(open_ledger):
    lease = admit(open_ledger, request())
    first = settle(open_ledger, lease, ending(n=1))
    before = contents(open_ledger)

    assert settle(open_ledger, lease, ending(n=1)) == first
    assert settle(open_ledger, lease, failed()) == first
    assert contents(open_ledger) == before


def test_settle_still_counts_when_the_lease_is_over_and_nobody_looked(open_ledger):
    lease = admit(open_ledger, request())
    pass_lease(open_ledger, lease)

    assert settle(open_ledger, lease, ending()).state is OperationState.COMPLETED


@pytest.mark.parametrize("by_reader", [False, True], ids=["finalizer", "reader"])
def test_settle_is_dropped_when_a_zombie_comes_after_finalization(open_ledger, by_reader):
    lease = admit(open_ledger, request(key="c"))
    pass_lease(open_ledger, lease)
    unknown = find_ended(open_ledger, "p", "c") if by_reader else None
    finalize_stale(open_ledger)

    stored = settle(open_ledger, lease, ending())

    assert stored.state is OperationState.OUTCOME_UNKNOWN
    assert stored == (unknown or find_ended(open_ledger, "p", "c"))


def test_settle_leaves_the_slot_to_its_new_holder_when_its_lease_was_over(open_ledger):
    one = profile(active_max=1)
    zombie = admit(open_ledger, request(profile=one))
    pass_lease(open_ledger, zombie)
    new = admit(open_ledger, request(profile=one))

    settle(open_ledger, zombie, ending())

    assert run_sql(open_ledger, "SELECT operation_id::text FROM slots") == [(new.operation_id,)]
    with pytest.raises(errors.ProjectBusy):
        admit(open_ledger, request(profile=one))


@pytest.mark.parametrize("change", ["off-and-on", "agents", "same", "deleted"])
def test_settle_withholds_a_result_when_the_project_was_saved_meanwhile(open_ledger, change):
    """M138, M139: any save counts, also one that leaves everything as it was."""
    lease = admit(open_ledger, request())
    project = read_project(open_ledger, "p")
    if change == "deleted":
        run_sql(open_ledger, "DELETE FROM projects")
    if change == "off-and-on":
        save_project(open_ledger, Project(id="p"), actor="tests")
    if change != "deleted":
        other = Project(id="p", enabled=True, fetch_enabled=True, agents=("a", "b"))
        save_project(open_ledger, other if change == "agents" else project, actor="tests")
    before = contents(open_ledger)

    with pytest.raises(errors.SettingsChanged):
        settle(open_ledger, lease, ending())

    assert contents(open_ledger) == before
    assert settle(open_ledger, lease, failed("settings_changed")).code == "settings_changed"


def test_settle_keeps_a_result_when_another_project_was_saved_meanwhile(open_ledger):
    lease = admit(open_ledger, request())
    save_project(open_ledger, Project(id="q"), actor="tests")

    assert settle(open_ledger, lease, ending()).state is OperationState.COMPLETED


@pytest.mark.parametrize("field", ["operation_id", "owner"])
def test_settle_refuses_a_lease_when_this_ledger_never_granted_it(open_ledger, field):
    lease = admit(open_ledger, request())
    forged = type(lease)(
        **{name: getattr(lease, name) for name in lease.__dataclass_fields__}
        | {field: "00000000-0000-4000-8000-000000000000"}
    )

    with pytest.raises(errors.Internal):
        settle(open_ledger, forged, ending())
    assert read_receipt(open_ledger, lease.operation_id) is None


@pytest.mark.parametrize(
    ("state", "code", "sent"),
    [("pending", None, "sent"), ("completed", "x", "sent"), ("failed", None, "sent"), ("failed", "x", "perhaps")],
)
def test_settle_refuses_an_ending_when_it_contradicts_itself(open_ledger, state, code, sent):
    lease = admit(open_ledger, request())

    with pytest.raises(errors.Internal):
        settle(open_ledger, lease, ending(state, code=code, sent=sent))
    assert read_receipt(open_ledger, lease.operation_id) is None


def test_settle_refuses_a_digest_when_it_is_not_the_bodys(open_ledger):
    lease = admit(open_ledger, request())
    one, other = ending(n=1), ending(n=2)

    with pytest.raises(ValueError, match="digest"):
        settle(
            open_ledger, lease, type(one)(state=one.state, code=None, sent="sent", body=one.body, digest=other.digest)
        )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE operations SET state = 'failed', code = 'x'",
        "UPDATE operations SET task_id = 'x'",
        "DELETE FROM operations",
        "UPDATE receipts SET body = '{}'",
        "DELETE FROM receipts",
        "UPDATE audit SET actor = 'x'",
        "DELETE FROM audit",
    ],
)
def test_final_rows_refuse_every_change_when_a_superuser_tries(open_ledger, statement):
    settle(open_ledger, admit(open_ledger, request()), ending())
    before = contents(open_ledger)

    with pytest.raises(sqlalchemy.exc.DBAPIError, match="row_is_final"), open_ledger.connect() as connection:
        connection.execute(text(statement))

    assert contents(open_ledger) == before


def test_finalize_stale_moves_only_what_is_past_its_lease_when_it_runs(open_ledger):
    many = profile(active_max=10)
    stale, live, ended = (admit(open_ledger, request(profile=many, key=key)) for key in ("stale", "live", "ended"))
    settle(open_ledger, ended, ending())
    pass_lease(open_ledger, stale)

    assert [finalize_stale(open_ledger), finalize_stale(open_ledger)] == [1, 0]
    assert find_ended(open_ledger, "p", "stale").state is OperationState.OUTCOME_UNKNOWN
    assert find_ended(open_ledger, "p", "live") is None
    assert settle(open_ledger, live, ending()).state is OperationState.COMPLETED


def test_finalize_stale_takes_no_more_than_its_limit_when_many_are_stale(open_ledger):
    many = profile(active_max=10)
    for _ in range(5):
        pass_lease(open_ledger, admit(open_ledger, request(profile=many)))

    assert [finalize_stale(open_ledger, 3) for _ in range(3)] == [3, 2, 0]


def test_finalize_stale_passes_by_a_row_when_another_transaction_holds_it(open_ledger):
    many = profile(active_max=10)
    held, free = (admit(open_ledger, request(profile=many)) for _ in range(2))
    pass_lease(open_ledger, held)
    pass_lease(open_ledger, free)

    with open_ledger.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        connection.execute(text("SELECT 1 FROM operations WHERE id = :id FOR UPDATE"), {"id": held.operation_id})
        assert finalize_stale(open_ledger) == 1

    assert finalize_stale(open_ledger) == 1


@pytest.mark.parametrize("key", ["plain", 'quote"back\\slash/', "tab\tline\nfeed\rbell\x07\x7f", "ünï/日本/😀"])
def test_unknown_receipt_is_canonical_json_when_postgresql_writes_it(open_ledger, key):
    one = request(key=key)
    lease = admit(open_ledger, one)
    pass_lease(open_ledger, lease)

    stored = find_ended(open_ledger, "p", key)

    body = json.loads(stored.body)
    assert canonical(body) == stored.body
    assert digest_of(stored.body) == stored.digest
    assert (body["call"], body["operation"], body["error"]["code"]) == (key, lease.operation_id, stored.code)
    assert body["admitted_at"] < body["ended_at"]
