"""Metrics of the ledger: every end is counted once, times fall into their buckets, refused budgets leave a count."""

import threading
from concurrent.futures import ThreadPoolExecutor
from math import inf

import pytest

from broker.ledger.engine import ledger_engine
from broker.ledger.metrics import AGE_SECONDS, read_metrics, tally
from broker.ledger.operations import admit, settle
from schemas.errors import AgentNotPermitted, OutriderError
from schemas.operation import OperationState
from tests.ledger_calls import SEARCH_QUOTA, contents, ending, failed, pass_lease, profile, request, run_sql
from tests.outbox_calls import accepted, make_late
from tests.receipt_calls import WIDE

BOUNDS = (0.1, 1.0)
HOP = {"dns": 20, "exchange": 900, "connect": 30, "tls": 130, "first_byte": 630, "total": 2630}


def ended(engine, end=None, **names):
    """One more operation that ended."""
    lease = admit(engine, request(profile=WIDE, **names), patience_seconds=60)
    settle(engine, lease, end or ending(), patience_seconds=60)
    return lease.operation_id


def counted(engine, **more):
    """All that can be counted now, however young."""
    return tally(engine, BOUNDS, age_seconds=0, **more)


def look(engine):
    return read_metrics(engine, projects=2)


def ends(engine):
    return {(one.tool, one.state.value, one.code): one.count for one in look(engine).ends}


def phases(engine):
    return {(one.phase, one.at_most): (one.count, round(one.seconds, 6)) for one in look(engine).times}


def test_ends_are_counted_by_tool_state_and_code_and_each_once(open_ledger):
    for end in (ending(), ending(), failed("dns_failure"), ending("cancelled", code="cancelled")):
        ended(open_ledger, end)
    ended(open_ledger, failed("dns_failure"), tool="web_search")

    assert [counted(open_ledger), counted(open_ledger)] == [5, 0]

    assert ends(open_ledger) == {
        ("web_fetch", "completed", ""): 2,
        ("web_fetch", "failed", "dns_failure"): 1,
        ("web_fetch", "cancelled", "cancelled"): 1,
        ("web_search", "failed", "dns_failure"): 1,
    }


def test_ends_without_a_worker_are_counted_too(open_ledger):
    """One that nobody settled, and an accepted call that nobody admitted in time."""
    lease = admit(open_ledger, request())
    pass_lease(open_ledger, lease)
    late, _one = accepted(open_ledger)
    make_late(open_ledger, late)
    run_sql(open_ledger, "SELECT ledger_finalize_stale(9), ledger_expire_accepted(9)")

    assert counted(open_ledger) == 2

    assert ends(open_ledger) == {
        ("web_fetch", "outcome_unknown", "research_outcome_unknown"): 1,
        ("web_fetch", "refused", "not_admitted_in_time"): 1,
    }


def test_counts_go_on_where_they_stood_when_another_exporter_begins(open_ledger, ledger_url):
    ended(open_ledger)
    counted(open_ledger)
    ended(open_ledger)

    another = ledger_engine(ledger_url, size=1)
    assert counted(another) == 1

    assert ends(another) == {("web_fetch", "completed", ""): 2}
    another.dispose()


def test_young_ends_wait_because_an_older_one_may_still_be_committing(open_ledger):
    """An end whose time was taken first commits last: with the age it is counted, without it would be lost."""
    slow, end = admit(open_ledger, request()), ending()
    raw = open_ledger.raw_connection()
    try:
        raw.driver_connection.autocommit = False
        raw.cursor().execute(
            "SELECT ledger_settle(%s, %s, 'completed', NULL, 'sent', %s, %s)",
            (slow.operation_id, slow.owner, end.body, end.digest),
        )
        ended(open_ledger, run="another")

        assert tally(open_ledger, BOUNDS, age_seconds=AGE_SECONDS) == 0

        raw.commit()
    finally:
        raw.invalidate()
    assert counted(open_ledger) == 2


@pytest.mark.parametrize(("limit", "counts"), [(2, [2, 1, 0]), (3, [3, 0]), (4, [3, 0])], ids=["under", "at", "over"])
def test_ends_are_counted_in_portions_and_none_twice(open_ledger, limit, counts):
    for _ in range(3):
        ended(open_ledger)

    assert [counted(open_ledger, limit=limit) for _ in counts] == counts

    assert ends(open_ledger) == {("web_fetch", "completed", ""): 3}


def test_each_end_is_counted_once_when_many_exporters_count_at_once(open_ledger):
    for number in range(40):
        ended(open_ledger, run=f"r{number}")
    together = threading.Barrier(6)

    def count() -> int:
        together.wait()
        return sum(counted(open_ledger, limit=3) for _ in range(20))

    with ThreadPoolExecutor(6) as pool:
        found = sum(one.result() for one in [pool.submit(count) for _ in range(6)])
    while more := counted(open_ledger):  # who met another at work counted nothing
        found += more

    assert found == 40
    assert ends(open_ledger) == {("web_fetch", "completed", ""): 40}


def test_phases_are_the_distances_between_the_marks_of_a_receipt(open_ledger):
    """Libcurl's times count from the start of the transfer: connect 30, TLS 130, first byte 630, all of it 2630 ms."""
    plain = {"dns": 20, "connect": 30, "tls": 0, "first_byte": 630, "total": 640}
    ended(open_ledger, ending(hops=[{"milliseconds": HOP}], milliseconds=4000, extractions=[{"milliseconds": 50}]))
    ended(open_ledger, ending(hops=[{"milliseconds": plain}], milliseconds=700, extractions=[]))

    counted(open_ledger)

    assert phases(open_ledger) == {
        ("dns", 0.1): (2, 0.04),
        ("connect", 0.1): (2, 0.06),
        ("tls", 0.1): (1, 0.1),
        ("first_byte", 1.0): (2, 1.1),
        ("transfer", inf): (1, 2.0),
        ("transfer", 0.1): (1, 0.01),
        ("extract", 0.1): (1, 0.05),
        ("call", inf): (1, 4.0),
        ("call", 1.0): (1, 0.7),
    }


def test_phases_that_were_never_reached_are_not_counted(open_ledger):
    """A name without an answer; a connection that was not made; TLS that failed."""
    hops = [
        {"milliseconds": {"dns": 10}},
        {"milliseconds": {"dns": 10, "connect": 0, "tls": 0, "first_byte": 0, "total": 900}},
        {"milliseconds": {"dns": 10, "connect": 40, "tls": 0, "first_byte": 0, "total": 900}},
        {},
    ]
    ended(open_ledger, ending("failed", code="tls_error", hops=hops))

    counted(open_ledger)

    assert phases(open_ledger) == {("dns", 0.1): (3, 0.03), ("connect", 0.1): (1, 0.04)}


@pytest.mark.parametrize(
    ("milliseconds", "bucket"),
    [(99.9, 0.1), (100, 0.1), (100.1, 1.0), (1_000, 1.0), (1_000.1, inf)],
    ids=["under", "at", "over", "at_the_last", "over_the_last"],
)
def test_time_falls_into_the_first_bucket_that_holds_it(open_ledger, milliseconds, bucket):
    """Prometheus's `le`: a time that equals a bound belongs to it."""
    ended(open_ledger, ending(milliseconds=milliseconds))

    counted(open_ledger)

    assert phases(open_ledger) == {("call", bucket): (1, milliseconds / 1000)}


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[]",
        '"x"',
        "{",
        '{"milliseconds":"9"}',
        '{"milliseconds":{}}',
        '{"hops":7}',
        '{"hops":[[1],"x",{"milliseconds":[]},{"milliseconds":{"dns":null,"total":"x"}}]}',
        '{"extractions":{"milliseconds":true}}',
        '{"error":"\\u0000"}',
    ],
)
def test_receipt_that_was_altered_stops_no_counting(open_ledger, body):
    changed = ended(open_ledger)
    run_sql(open_ledger, "ALTER TABLE receipts DISABLE TRIGGER receipts_final")
    run_sql(open_ledger, "UPDATE receipts SET body = :body WHERE operation_id = :id", body=body, id=changed)
    run_sql(open_ledger, "ALTER TABLE receipts ENABLE TRIGGER receipts_final")
    ended(open_ledger, ending(milliseconds=5))

    assert counted(open_ledger) == 2

    assert phases(open_ledger) == {("call", 0.1): (1, 0.005)}


@pytest.mark.parametrize(("number", "bucket"), [("-5", 0.1), ("1e300", inf), ("1e999", inf)])
def test_time_that_cannot_be_is_kept_within_bounds(open_ledger, number, bucket):
    changed = ended(open_ledger)
    run_sql(open_ledger, "ALTER TABLE receipts DISABLE TRIGGER receipts_final")
    body = f'{{"milliseconds":{number}}}'
    run_sql(open_ledger, "UPDATE receipts SET body = :body WHERE operation_id = :id", body=body, id=changed)
    run_sql(open_ledger, "ALTER TABLE receipts ENABLE TRIGGER receipts_final")

    counted(open_ledger)

    [(key, (count, seconds))] = phases(open_ledger).items()
    assert (key, count) == (("call", bucket), 1)
    assert 0 <= seconds <= 86_400


def test_standings_tell_live_stale_and_accepted_with_the_oldest(open_ledger):
    leases = [admit(open_ledger, request(profile=WIDE)) for _ in range(3)]
    pass_lease(open_ledger, leases[0])
    late, _one = accepted(open_ledger)
    make_late(open_ledger, late, minutes=2)

    found = {one.state: one for one in look(open_ledger).standings}

    pending, waiting = found[OperationState.PENDING], found[OperationState.ACCEPTED]
    assert (pending.total, pending.stale, waiting.total, waiting.stale) == (3, 1, 1, 0)
    assert 3_600 <= pending.oldest < 3_700
    assert 120 <= waiting.oldest < 220


def test_lag_is_the_age_of_the_oldest_end_that_was_not_counted(open_ledger):
    assert look(open_ledger).lag_seconds == 0
    ended(open_ledger)
    tally(open_ledger, BOUNDS)  # too young: the mark is there, behind which it waits

    assert 0 < look(open_ledger).lag_seconds < AGE_SECONDS

    counted(open_ledger)
    assert look(open_ledger).lag_seconds == 0


@pytest.mark.parametrize(
    ("code", "quota"),
    [
        ("step_quota_exhausted", {"step_max": 1}),
        ("run_quota_exhausted", {"run_max": 1}),
        ("project_busy", {"active_max": 1}),
        ("cooldown", {"gap_seconds": 60.0}),
    ],
)
def test_admission_that_a_budget_refuses_is_counted_and_leaves_no_reservation(open_ledger, code, quota):
    """M148, M155: the refusal rolls back whole; what stays is one number."""
    small = profile(**quota)
    admit(open_ledger, request(profile=small))
    before = contents(open_ledger)

    for _ in range(2):
        with pytest.raises(OutriderError) as refused:
            admit(open_ledger, request(profile=small))
        assert refused.value.code == code

    assert contents(open_ledger) == before
    assert [(one.family, one.code, one.count) for one in look(open_ledger).denied] == [("fetch", code, 2)]


def test_refusals_that_no_budget_made_are_not_counted(open_ledger):
    with pytest.raises(AgentNotPermitted):
        admit(open_ledger, request(agent="stranger"))

    assert look(open_ledger).denied == ()


def test_denials_are_told_by_family_and_of_the_projects_that_have_most(open_ledger):
    tight = profile(family="search", active_max=SEARCH_QUOTA.active_max)
    for project, times in (("p1", 1), ("p2", 3), ("p3", 2)):
        run_sql(open_ledger, "INSERT INTO projects VALUES (:p, true, true, '{a}', 1, now())", p=project)
        admit(open_ledger, request(profile=tight, project=project))
        for _ in range(times):
            with pytest.raises(OutriderError):
                admit(open_ledger, request(profile=tight, project=project))

    found = look(open_ledger)

    assert [(one.family, one.code, one.count) for one in found.denied] == [("search", "project_busy", 6)]
    assert found.denied_most == {"p2": 3, "p3": 2}
