"""Searches under the ledger's rules, end to end: one at a time, two seconds apart, 20 a step, 100 a run."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise
from uuid import uuid4

from broker import intake
from broker.intake import Handle
from broker.ledger.overview import read_operation
from ops.lab.control import LabControl
from ops.lab.engine import block, results_page
from schemas.profiles import WEB_FETCH, WEB_SEARCH
from tests.fleet import Fleet, wait_until
from tests.stores import rows

HOST = "html.duckduckgo.com"
FOUND = results_page([block("Title", "https://good.example/", "Words.")])
QUOTA = WEB_SEARCH.quota
BUSY = ("project_busy", "cooldown")
RACERS = 24


def send(fleet: Fleet, context: dict[str, str], query: str = "words") -> Handle:
    return intake.submit("web_search", {"query": query}, context)


def let_the_gap_pass(fleet: Fleet, project: str) -> None:
    """As if two seconds had gone by."""
    rows(fleet, "UPDATE pacing SET next_at = '-infinity' WHERE project = %s", project)


def started_at(fleet: Fleet, operation: str) -> datetime:
    view = read_operation(fleet.ledger, operation)
    assert view is not None
    assert view.admitted_at is not None
    return view.admitted_at


def test_one_search_of_a_project_is_active_and_the_next_is_told_to_wait(fleet: Fleet, lab: LabControl) -> None:
    """M144, M146, M148: the loser costs nothing, other projects and this one's fetches go on."""
    lab.site(HOST, site="wire", replies=[{"body": FOUND, "delay_ms": 8_000}, {"body": FOUND}])
    context = fleet.context(project=fleet.project())
    first = send(fleet, context)
    wait_until(lab.hits, seconds=30, what="the first at the provider")
    let_the_gap_pass(fleet, context["project"])
    second = fleet.search("words", context=context)
    assert (second["outcome"], second["error"]["code"], second["error"]["retryable"]) == (
        "refused",
        "project_busy",
        True,
    )
    assert 0 < second["error"]["facts"]["retry_after_seconds"] <= WEB_SEARCH.limits.lease_seconds
    assert (second["operation"], second["receipt"]) == (None, None)
    assert fleet.search("words")["outcome"] == "completed"
    assert fleet.fetch("https://text.example/", context=context)["value"]["budget"] == {"step": 39, "run": 199}
    assert fleet.reply(first)["value"]["budget"] == {"step": 19, "run": 99}
    let_the_gap_pass(fleet, context["project"])
    assert fleet.search("words", context=context)["value"]["budget"] == {"step": 18, "run": 98}


def test_start_within_two_seconds_is_told_how_long_to_wait(fleet: Fleet, lab: LabControl) -> None:
    """M145, M148: the gap is made an hour, so that no slow machine outlasts it; nothing is reserved, nobody asked."""
    context = fleet.context(project=fleet.project())
    assert fleet.search("words", context=context)["outcome"] == "completed"
    rows(fleet, "UPDATE pacing SET next_at = now() + interval '1 hour' WHERE project = %s", context["project"])
    early = fleet.search("words", context=context)
    assert (early["outcome"], early["error"]["code"], early["operation"]) == ("refused", "cooldown", None)
    assert 3_500 < early["error"]["facts"]["retry_after_seconds"] <= 3_600
    assert fleet.fetch("https://text.example/", context=context)["outcome"] == "completed"


def test_racing_searches_of_one_project_start_one_by_one_and_two_seconds_apart(fleet: Fleet, lab: LabControl) -> None:
    """M144, M145, M147, issue 4: whoever loses is told why and for how long, and has sent nothing."""
    context = fleet.context(project=fleet.project())
    handles = [send(fleet, context, f"racer {number}") for number in range(RACERS)]
    envelopes = [fleet.reply(handle) for handle in handles]
    won = [one for one in envelopes if one["outcome"] == "completed"]
    lost = [one for one in envelopes if one["outcome"] != "completed"]
    assert won
    assert len(won) < RACERS
    assert {one["error"]["code"] for one in lost} <= set(BUSY)
    assert all(one["error"]["facts"]["retry_after_seconds"] > 0 for one in lost)
    assert {(one["outcome"], one["operation"]) for one in lost} == {("refused", None)}
    starts = sorted(started_at(fleet, one["operation"]) for one in won)
    # The pace is taken just before the lease, in one transaction, which a busy machine may hold up in between.
    assert all((later - earlier).total_seconds() > QUOTA.gap_seconds / 2 for earlier, later in pairwise(starts))
    assert sum(lab.hits().values()) == len(won)


def test_accepted_searches_of_one_project_wait_their_turn(fleet: Fleet, lab: LabControl) -> None:
    """Our own clients' calls are put off, not refused: each of three ends completed, two seconds apart."""
    context = fleet.context(project=fleet.project())

    def search(number: int) -> dict[str, str]:
        handle = intake.submit("web_search", {"query": f"turn {number}"}, context, ledger=fleet.ledger)
        return fleet.reply(handle, 90)

    with ThreadPoolExecutor(3) as pool:
        envelopes = list(pool.map(search, range(3)))
    assert [one["outcome"] for one in envelopes] == ["completed"] * 3
    assert sum(lab.hits().values()) == 3


def test_step_and_run_are_exhausted_at_their_quota_whatever_fetches_spend(fleet: Fleet, lab: LabControl) -> None:
    """M142, M143, M146, M151: 20 for a step, 100 for a run that its children share; fetches count elsewhere."""
    project, run = fleet.project(), f"r-{uuid4().hex[:8]}"
    lab.site(HOST, site="page", body=FOUND)
    steps = QUOTA.run_max // QUOTA.step_max
    for number in range(steps):
        context = fleet.context(project=project, run=run, step=f"s-{number}")
        for left in reversed(range(QUOTA.step_max)):
            let_the_gap_pass(fleet, project)
            budget = fleet.search("words", context=context)["value"]["budget"]
            assert budget == {"step": left, "run": (steps - number - 1) * QUOTA.step_max + left}
        let_the_gap_pass(fleet, project)
        late = fleet.search("words", context=context)
        spent = "run" if number + 1 == steps else "step"
        assert (late["outcome"], late["error"]["code"]) == ("refused", f"{spent}_quota_exhausted")
    fresh = fleet.context(project=project, run=run, step="s-fresh")
    assert fleet.search("words", context=fresh)["error"]["code"] == "run_quota_exhausted"
    assert sum(lab.hits().values()) == QUOTA.run_max
    quota = WEB_FETCH.quota
    fetched = fleet.fetch("https://text.example/", context=fresh)["value"]["budget"]
    assert fetched == {"step": quota.step_max - 1, "run": quota.run_max - 1}


def test_failed_search_is_counted(fleet: Fleet, lab: LabControl) -> None:
    """M148: a challenge has cost a reservation like any other attempt."""
    context = fleet.context(project=fleet.project())
    lab.site(HOST, site="page", status=403)
    assert fleet.search("words", context=context)["error"]["code"] == "source_blocked"
    lab.reset()
    let_the_gap_pass(fleet, context["project"])
    assert fleet.search("words", context=context)["value"]["budget"] == {"step": 18, "run": 98}
