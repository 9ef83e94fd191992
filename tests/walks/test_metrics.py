"""Metrics of real calls: what a fetch takes, what runs, what a budget refused; and no word of what was asked."""

from collections.abc import Callable
from uuid import uuid4

from prometheus_client.parser import text_string_to_metric_families

from broker.ledger.projects import Project, save_project
from ops.lab.control import LabControl
from schemas.profiles import WEB_FETCH
from tests.fleet import Fleet, wait_until
from tests.walks.views import metrics_page

COUNTED_SECONDS = 60.0  # ends are counted ten seconds late, by the next scrape
PHASES = ("dns", "connect", "tls", "first_byte", "transfer", "extract")


def value(fleet: Fleet, name: str, **labels: str) -> float:
    """The sum of the series with these labels."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(metrics_page(fleet))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def ended(fleet: Fleet, **labels: str) -> float:
    return value(fleet, "outrider_operations_total", tool="web_fetch", **labels)


def test_fetches_are_told_by_outcome_code_and_phase(fleet: Fleet, lab: LabControl) -> None:
    """Issue 4: DNS, connect, TLS, first byte and transfer of each hop, extraction of each page, and the whole call."""
    del lab

    def look() -> dict[str, float]:
        counts = {phase: value(fleet, "outrider_phase_seconds_count", phase=phase) for phase in PHASES}
        counts["call"] = value(fleet, "outrider_call_seconds_count")
        counts["completed"] = ended(fleet, outcome="completed", code="")
        counts["http_error"] = ended(fleet, outcome="failed", code="http_error")
        return counts

    wait_until(lambda: value(fleet, "outrider_tally_lag_seconds") == 0, seconds=COUNTED_SECONDS, what="all is counted")
    before, seconds = look(), value(fleet, "outrider_call_seconds_sum")
    assert fleet.fetch("https://good.example/")["outcome"] == "completed"
    assert fleet.fetch("https://notfound.example/")["error"]["code"] == "http_error"

    def grown() -> dict[str, float]:
        return {name: count - before[name] for name, count in look().items()}

    wait_until(lambda: grown()["call"] == 2, seconds=COUNTED_SECONDS, what="both are counted")
    hop = dict.fromkeys(("dns", "connect", "tls", "first_byte", "transfer"), 2)
    assert grown() == hop | {"extract": 1, "call": 2, "completed": 1, "http_error": 1}
    assert value(fleet, "outrider_call_seconds_sum") > seconds


def test_running_calls_and_a_refused_one_are_told(fleet: Fleet, lab: LabControl) -> None:
    """Leases and held messages while three calls run; a fourth, which a budget refuses, by family, code and project."""
    context = fleet.context(project=fleet.project())
    active = WEB_FETCH.quota.active_max
    denied = value(fleet, "outrider_budget_denials_total", family="fetch", code="project_busy")
    running = [fleet.send(f"https://counted.example/hold/{number}", context=context) for number in range(active)]
    for number in range(active):
        assert len(lab.await_requests(f"/hold/{number}", seconds=20)) == 1

    assert fleet.fetch("https://good.example/", context=context)["error"]["code"] == "project_busy"

    assert value(fleet, "outrider_leases", state="live") == active
    assert value(fleet, "outrider_unacked_messages") >= active
    assert value(fleet, "outrider_oldest_unacked_seconds") > 0
    assert value(fleet, "outrider_oldest_pending_seconds") > 0
    assert value(fleet, "outrider_budget_denials_total", family="fetch", code="project_busy") == denied + 1
    assert value(fleet, "outrider_project_budget_denials_total", project=context["project"]) == 1
    for number, handle in enumerate(running):
        lab.release(str(number))
        assert fleet.reply(handle)["outcome"] == "completed"
    assert value(fleet, "outrider_leases") == 0


def test_waiting_messages_are_told_by_queue(fleet: Fleet, lab: LabControl) -> None:
    del lab
    workers = fleet.workers()
    context = fleet.context(project=fleet.project())
    for worker in workers:
        worker.suspend()  # the last wish of each takes one message
    try:
        handles = [fleet.accept("https://text.example/", context=context) for _ in range(len(workers) + 2)]
        wait_until(lambda: value(fleet, "outrider_queue_messages", queue="fetch") >= 2, what="two wait")
        assert value(fleet, "outrider_accepted_operations") == len(handles)
        assert value(fleet, "outrider_oldest_accepted_seconds") > 0
    finally:
        for worker in workers:
            worker.resume()
    assert [fleet.reply(handle)["outcome"] for handle in handles] == ["completed"] * len(handles)


def test_labels_hold_no_word_of_a_call(fleet: Fleet, lab: LabControl, canary: str) -> None:
    """M157: neither the URL nor the host, and no agent, run, step or call id: they are no closed set."""
    site, project = f"{canary}.example", fleet.project()
    lab.site(site, site="page", body=f"<p>{canary}text that is long enough to be read by anybody.</p>")
    save_project(fleet.ledger, Project(id=project, enabled=True, fetch_enabled=True, agents=(canary,)), actor="test")
    context = {"project": project, "agent": canary, "run": f"r-{canary}", "step": f"s-{canary}", "call": uuid4().hex}
    before = ended(fleet)
    assert fleet.fetch(f"https://{site}/{canary}?q={canary}", context=context)["outcome"] == "completed"
    counted: Callable[[], bool] = lambda: ended(fleet) > before  # noqa: E731 - read twice
    wait_until(counted, seconds=COUNTED_SECONDS, what="it is counted")
    assert canary not in metrics_page(fleet)
