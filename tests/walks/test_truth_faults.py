"""Truth analysis under fire: a worker killed in the middle of a request leaves an unknown, and no second request."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from broker import intake
from broker.ledger.chains import read_chain
from ops.lab.control import LabControl
from schemas.findings import verify
from tests.fleet import Fleet, running_fleet, wait_until
from tests.stores import rows, unread
from tests.truth_calls import ENGINE, Worker, call, code_of, find, launched, output, prepare_arguments, value_of

FINAL_SECONDS = 60
RUNS = 20
REDELIVERY_SECONDS = 120


@pytest.fixture
def own_fleet(lab: LabControl, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet that may be hurt."""
    assert lab.canaries() == []
    with running_fleet(tmp_path / "fleet", "--port-base", "7100") as fleet:
        yield fleet


def is_unknown(worker: Worker, kind: str) -> bool:
    """Whether an operation of the run was finalized; looked up without finalizing it."""
    query = "SELECT 1 FROM operations WHERE key LIKE %s AND state = 'outcome_unknown'"
    return bool(rows(worker.fleet, query, f"{worker.run}/{kind}/%"))


def stranded(worker: Worker, lab: LabControl) -> list[dict[str, Any]]:
    """The hits of a run whose fetch is in its body and whose search is at its engine when all workers are killed."""
    fleet = worker.fleet
    find(lab, f"https://counted.example/half/{worker.run}", "https://text.example/")
    hits = worker.hits()
    lab.site(ENGINE, site="mute")
    worker.send("search", query="never answered")
    worker.send("fetch", hit_id=hits[0]["hit_id"])
    lab.await_requests(f"/half/{worker.run}")
    wait_until(lambda: sum(lab.hits(ENGINE).values()) >= 1, what="the engine was asked")
    struck = fleet.workers()
    for process in struck:
        process.kill()
    psutil.wait_procs(struck, timeout=10)  # until then a dying one may still be handed a message
    lab.release(worker.run)
    return hits


def test_killed_request_is_unknown_for_ever_and_never_repeated(own_fleet: Fleet, lab: LabControl) -> None:
    """M39, M40, M44, X1: a fetch in its body and a search at its engine; the redelivered messages send nothing."""
    fleet, worker = own_fleet, launched(own_fleet)
    hits = stranded(worker, lab)
    asked = sum(lab.hits(ENGINE).values())
    find(lab, "https://docs.example/")  # the engine would answer now

    live = worker.call("fetch", hit_id=hits[0]["hit_id"])
    assert (live["outcome"], code_of(live)) == ("refused", "operation_in_progress")
    for kind in ("fetch", "search"):  # by the finalization task: nobody looks at them meanwhile
        wait_until(lambda kind=kind: is_unknown(worker, kind), seconds=FINAL_SECONDS, what=f"the {kind} is finalized")
    calls = (("fetch", {"hit_id": hits[0]["hit_id"]}), ("search", {"query": "never answered"}))
    for again in [worker.call(capability, **arguments) for capability, arguments in calls * 2]:
        assert (again["outcome"], code_of(again)) == ("unknown", "research_outcome_unknown")
        assert (again["replayed"], again["error"]["retryable"]) == (True, False)
    wait_until(lambda: unread(fleet) == 0, seconds=REDELIVERY_SECONDS, what="the killed messages came back")
    assert len(lab.requests(f"/half/{worker.run}")) == 1
    assert sum(lab.hits(ENGINE).values()) == asked

    [web] = [entry for entry in worker.get()["source_coverage"] if entry["source"] == "web"]
    assert web["status"] == "partial"
    assert web["detail"] == "Queries: 2 of 3, completed 1. Fetches: 1 of 5, completed 0."
    forged = output(source_coverage=[{"source": "web", "status": "searched"}])
    assert code_of(worker.call("job_submit", output=forged)) == "invalid_output"
    value_of(worker.call("fetch", hit_id=hits[1]["hit_id"]))
    assert value_of(worker.call("job_submit", output=output()))["status"] == "completed"


def test_desk_that_is_killed_at_work_leaves_each_run_whole(own_fleet: Fleet, lab: LabControl) -> None:
    """M10, M74: the care worker killed among preparations, launches and submissions; repeats find what was begun."""
    del lab
    fleet, given = own_fleet, output(summary="The same.")
    workers = [launched(fleet) for _ in range(RUNS)]
    contexts = [fleet.context(call=f"again-{number}") for number in range(RUNS)]
    asked = [prepare_arguments() for _ in range(RUNS)]
    for worker, arguments, context in zip(workers, asked, contexts, strict=True):
        worker.send("job_submit", output=given)
        intake.submit("truth_prepare", arguments, context)
    query = "SELECT count(*) FROM truth_runs WHERE state = 'completed' OR call LIKE 'again-%%'"
    wait_until(lambda: rows(fleet, query)[0][0] > 2, what="some are done")
    [care] = fleet.processes("worker", "care@%h")
    care.kill()
    psutil.wait_procs([care], timeout=10)

    for worker, arguments, context in zip(workers, asked, contexts, strict=True):
        assert value_of(worker.call("job_submit", output=given))["status"] == "completed"
        assert worker.status()["state"] == "completed"
        assert verify(read_chain(fleet.ledger, worker.project, worker.run)) == ()
        run = value_of(call(fleet, "truth_prepare", arguments, context))["run_id"]
        assert rows(fleet, "SELECT id FROM truth_runs WHERE call = %s", context["call"]) == [(run,)]
    assert rows(fleet, "SELECT count(*) FROM truth_outputs") == [(RUNS,)]
