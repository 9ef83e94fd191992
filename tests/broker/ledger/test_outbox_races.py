"""The outbox when everything happens at one instant: one lease, one claim, one end (X1)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, find_ended, settle
from broker.ledger.outbox import accept, claim_posts, end_accepted, expire_accepted
from schemas import errors
from schemas.operation import Accepted, Lease, OperationState, Running
from tests.ledger_calls import failed, profile, request, run_sql
from tests.outbox_calls import SEALED, accepted, kept_requests, make_late, state_of

REFUSED, CANCELLED = OperationState.REFUSED, OperationState.CANCELLED
GONE = errors.Cancelled("The call was cancelled before it began.")


def together(url, *works):
    """Each piece of work on a connection of its own, all at one instant; their answers."""
    engine = ledger_engine(url, size=len(works))
    barrier = Barrier(len(works), timeout=60)

    def start(work):
        with engine.connect():
            barrier.wait()
        return work(engine)

    with ThreadPoolExecutor(len(works)) as pool:
        answers = list(pool.map(start, works))
    engine.dispose()
    return answers


def test_one_lease_is_granted_when_sixteen_workers_open_one_accepted_call(open_ledger, ledger_url):
    """X1: sixteen copies of the id alone; one rides, fifteen hear who."""
    operation_id, one = accepted(open_ledger, request(profile=profile(active_max=1, step_max=1)))
    copies = [request(profile=one.tool.profile, key=one.key, task_id=one.task_id) for _ in range(16)]

    answers = together(ledger_url, *(lambda engine, copy=copy: admit(engine, copy) for copy in copies))

    assert [type(answer) for answer in answers].count(Lease) == 1
    assert [type(answer) for answer in answers].count(Running) == 15
    assert {answer.operation_id for answer in answers} == {operation_id}
    assert run_sql(open_ledger, "SELECT used FROM counters") == [(1,), (1,)]


def test_one_end_is_kept_when_worker_client_and_sweeper_race_for_a_call(open_ledger, ledger_url):
    """Admission, taking back, refusal, posting and expiry at one instant: whoever is first, all say the same."""
    for turn in range(12):
        operation_id, one = accepted(open_ledger, request(profile=profile(step_max=100, run_max=100, active_max=50)))
        make_late(open_ledger, operation_id, minutes=11 if turn % 3 == 0 else 2)
        lease, *_ = together(
            ledger_url,
            lambda engine, one=one: admit(engine, one),
            lambda engine, name=operation_id: end_accepted(engine, name, CANCELLED, GONE),
            lambda engine, name=operation_id: end_accepted(engine, name, REFUSED, errors.NotAdmitted("Late.")),
            claim_posts,
            expire_accepted,
            lambda engine, one=one: find_ended(engine, "p", one.key),
        )
        state = state_of(open_ledger, operation_id)
        assert (state == "pending") == isinstance(lease, Lease)
        if isinstance(lease, Lease):
            settle(open_ledger, lease, failed())
        assert run_sql(open_ledger, "SELECT count(*) FROM receipts WHERE operation_id = :id", id=operation_id) == [(1,)]
        assert kept_requests(open_ledger) == []


def test_each_message_is_claimed_once_when_four_sweepers_race(open_ledger, ledger_url):
    calls = [accepted(open_ledger)[0] for _ in range(40)]
    for operation_id in calls:
        make_late(open_ledger, operation_id, minutes=1)

    answers = together(ledger_url, *(lambda engine: claim_posts(engine, limit=15) for _ in range(4)))

    claimed = [post.operation_id for answer in answers for post in answer]
    claimed += [post.operation_id for post in claim_posts(open_ledger)]
    assert sorted(claimed) == sorted(calls)


def test_one_acceptance_is_written_when_a_call_is_submitted_eight_times_at_once(open_ledger, ledger_url):
    answers = together(
        ledger_url,
        *(lambda engine: accept(engine, str(uuid4()), request(key="same"), SEALED) for _ in range(8)),
    )

    assert [type(answer) for answer in answers].count(Accepted) == 1
    assert len({answer.operation_id for answer in answers}) == 1
    assert len(kept_requests(open_ledger)) == 1
