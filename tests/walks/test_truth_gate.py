"""Who may work on a run, and until when: sessions, states, the deadline, through the Celery door."""

from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from broker.app import app
from broker.ledger.truth_runs import move_run
from ops.lab.control import LabControl
from schemas.selector import Selector, Span, anchor
from schemas.truth import RunState
from tests.fleet import Fleet, wait_until
from tests.stores import rows
from tests.truth_calls import (
    PASSAGE,
    Worker,
    call,
    code_of,
    find,
    launched,
    output,
    prepare_arguments,
    prepared,
    value_of,
)
from tests.truth_runs import age, tamper

CAPABILITIES: dict[str, dict[str, Any]] = {
    "job_get": {},
    "search": {"query": "moon"},
    "fetch": {"hit_id": "a" * 32},
    "job_submit": {"output": output()},
}


def asked(worker: Worker, capability: str, context: dict[str, str]) -> dict[str, Any]:
    """A capability call under some other context."""
    arguments = {"run_id": worker.run, **CAPABILITIES[capability]}
    return call(worker.fleet, f"cowork_truth_analysis_{capability}", arguments, context)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_session_is_matched_before_anything_of_the_run_is_read(fleet: Fleet, lab: LabControl, capability: str) -> None:
    """M3, M4, M5: wrong suffix, another run's session, none, another project: refused; the folder is never opened.

    A folder whose snapshot is broken answers context_changed as soon as anybody opens it.
    """
    worker = launched(fleet, prepare_arguments(claims=[], receipts=[]))
    own, other = worker.context(), prepared(fleet)
    tamper(fleet.ledger, "UPDATE truth_folders SET body = '' WHERE project = :p", p=worker.project)
    strangers = [
        {**own, "session": f"{worker.run}-cowork-truth"},
        {**own, "session": worker.run},
        {**own, "session": other.context()["session"]},
        {name: value for name, value in own.items() if name != "session"},
        {**own, "project": other.project},
    ]
    assert {code_of(asked(worker, capability, context)) for context in strangers} == {"session_forbidden"}
    assert lab.queries() == []
    if capability == "job_get":
        assert code_of(asked(worker, capability, own)) == "context_changed"


def test_stored_session_is_compared_on_every_call(fleet: Fleet, lab: LabControl) -> None:
    """M5: the row's session swapped in mid-run."""
    del lab
    worker = launched(fleet)
    worker.get()
    check = "ck_truth_runs_session CHECK (session = id || '-cowork-truth-analysis')"
    swap = "UPDATE truth_runs SET session = :s WHERE id = :r"
    tamper(fleet.ledger, "ALTER TABLE truth_runs DROP CONSTRAINT ck_truth_runs_session")
    try:
        tamper(fleet.ledger, swap, s="other", r=worker.run)
        assert code_of(worker.call("job_get")) == "session_forbidden"
    finally:
        tamper(fleet.ledger, swap, s=f"{worker.run}-cowork-truth-analysis", r=worker.run)
        tamper(fleet.ledger, f"ALTER TABLE truth_runs ADD CONSTRAINT {check}")


@pytest.mark.parametrize("run_id", ["a" * 129, "../etc", "", "run id", "run/1", "-run"])
def test_run_id_is_a_safe_id(fleet: Fleet, lab: LabControl, run_id: str) -> None:
    """M6"""
    del lab
    envelope = call(fleet, "cowork_truth_analysis_job_get", {"run_id": run_id})
    assert (envelope["outcome"], code_of(envelope)) == ("refused", "invalid_arguments")


def test_unknown_run_is_not_found_by_its_own_session_alone(fleet: Fleet, lab: LabControl) -> None:
    """M3: without the session nobody hears whether a run exists."""
    del lab
    nobody = Worker(fleet, "0" * 32)
    assert code_of(nobody.call("job_get")) == "run_not_found"
    assert code_of(asked(nobody, "job_get", fleet.context())) == "session_forbidden"
    assert code_of(call(fleet, "truth_status", {"run_id": nobody.run})) == "run_not_found"


@pytest.mark.parametrize(
    ("capability", "more"),
    [("fetch", {"hit_id": "a" * 32, "url": "https://good.example/"}), ("search", {"query": "x", "site": "a.example"}),
     ("job_get", {"folder": "f"}), ("job_submit", {"output": {}, "decision": "save"})],
)  # fmt: skip
def test_arguments_are_closed(fleet: Fleet, lab: LabControl, capability: str, more: dict[str, Any]) -> None:
    """M7, M27: no URL, no folder, no decision can be named."""
    worker = launched(fleet)
    envelope = worker.call(capability, **more)
    assert (envelope["outcome"], code_of(envelope)) == ("refused", "invalid_arguments")
    assert lab.queries() == []


def test_capabilities_are_never_repeated_by_themselves() -> None:
    """M9: no automatic retry."""
    app.loader.import_default_modules()
    for capability in CAPABILITIES:
        task = app.tasks[f"cowork_truth_analysis_{capability}"]
        assert (task.max_retries, getattr(task, "autoretry_for", ())) == (0, ())


def test_run_is_launched_before_its_worker_acts(fleet: Fleet, lab: LabControl) -> None:
    """M10, M30: a prepared run can be read; a launch tells the two costs apart, and may be repeated."""
    worker = prepared(fleet)
    context = fleet.context(project=worker.project)
    assert worker.get()["analysis_run_id"] == worker.run
    assert {code_of(worker.call(name, **CAPABILITIES[name])) for name in ("search", "fetch", "job_submit")} == {
        "run_not_launched"
    }
    first, second = (value_of(call(fleet, "truth_launch", {"run_id": worker.run}, context)) for _ in range(2))
    assert first == second
    assert ("$2.00" in first["disclosure"]["model"], "$" in first["disclosure"]["web"]) == (True, False)
    assert lab.queries() == []


@pytest.mark.parametrize("reason", ["cancelled", "worker_unavailable", "worker_exited_before_submission"])
def test_ended_run_lets_nobody_in(fleet: Fleet, lab: LabControl, reason: str) -> None:
    """M10, M15: every capability, also a fetch that was answered before; no packet leaves."""
    find(lab, "https://counted.example/plain/once")
    worker = launched(fleet)
    [hit] = worker.hits()
    value_of(worker.call("fetch", hit_id=hit["hit_id"]))
    context = fleet.context(project=worker.project)
    ended = value_of(call(fleet, "truth_cancel", {"run_id": worker.run, "reason": reason}, context))
    assert (ended["state"], ended["code"]) == ("unavailable" if "unavail" in reason else "failed", reason)
    assert value_of(call(fleet, "truth_cancel", {"run_id": worker.run}, context)) == ended
    before = len(lab.queries())
    calls = CAPABILITIES | {"fetch": {"hit_id": hit["hit_id"]}}
    assert {code_of(worker.call(name, **arguments)) for name, arguments in calls.items()} == {"run_terminal"}
    assert code_of(call(fleet, "truth_launch", {"run_id": worker.run}, context)) == "run_terminal"
    assert len(lab.queries()) == before


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_overdue_run_is_ended_by_whoever_calls_first(fleet: Fleet, lab: LabControl, capability: str) -> None:
    """M12, M14: the read path writes it down, once, and refuses."""
    worker = launched(fleet)
    age(fleet.ledger, worker.run, 1_800)
    for _ in range(2):
        assert code_of(worker.call(capability, **CAPABILITIES[capability])) == "execution_deadline_exceeded"
    moves = rows(fleet, "SELECT state FROM truth_moves WHERE run = %s ORDER BY at", worker.run)
    assert moves == [("prepared",), ("launching",), ("running",), ("failed",)]
    assert lab.queries() == []


def test_overdue_run_is_ended_once_when_100_workers_ask(fleet: Fleet, lab: LabControl) -> None:
    """M12, M13: 100 job_get at once, each refused with the same code; one transition; no folder row."""
    del lab
    worker = launched(fleet)
    folders = rows(fleet, "SELECT count(*) FROM truth_folders")
    age(fleet.ledger, worker.run, 1_800)
    handles = [worker.send("job_get") for _ in range(100)]
    assert {code_of(fleet.reply(handle, 90)) for handle in handles} == {"execution_deadline_exceeded"}
    assert rows(fleet, "SELECT count(*) FROM truth_moves WHERE run = %s AND state = 'failed'", worker.run) == [(1,)]
    assert rows(fleet, "SELECT count(*) FROM truth_folders") == folders


def test_overdue_run_is_ended_by_the_finalization_task_when_nobody_asks(fleet: Fleet, lab: LabControl) -> None:
    """M12: beat's own task, within its five seconds."""
    del lab
    worker = prepared(fleet)
    age(fleet.ledger, worker.run, 1_800)
    state = "SELECT state FROM truth_runs WHERE id = %s"
    wait_until(lambda: rows(fleet, state, worker.run) == [("failed",)], seconds=30, what="the finalizer was there")
    assert worker.status()["code"] == "execution_deadline_exceeded"


def test_orchestrator_sees_runs_of_its_own_project_alone(fleet: Fleet, lab: LabControl) -> None:
    """M27"""
    del lab
    worker = prepared(fleet)
    for tool in ("truth_status", "truth_launch", "truth_cancel"):
        assert code_of(call(fleet, tool, {"run_id": worker.run}, fleet.context())) == "run_not_found"
    assert worker.status()["status"] == "queued"


def test_altered_passage_is_not_given(fleet: Fleet, lab: LabControl) -> None:
    """M28: neither at read nor at launch, which ends the run."""
    del lab
    worker = prepared(fleet)
    tamper(fleet.ledger, "UPDATE truth_runs SET passage = passage || '!' WHERE id = :r", r=worker.run)
    assert code_of(worker.call("job_get")) == "context_changed"
    context = fleet.context(project=worker.project)
    assert code_of(call(fleet, "truth_launch", {"run_id": worker.run}, context)) == "context_changed"
    assert rows(fleet, "SELECT state, code FROM truth_runs WHERE id = %s", worker.run) == [
        ("failed", "context_changed")
    ]


def test_folder_that_changes_meanwhile_changes_no_run(fleet: Fleet, lab: LabControl) -> None:
    """M16, M18, M29: a run reads the snapshot that it was prepared with."""
    del lab
    claim = {"claim_id": "c1", "proposition": "It is basalt.", "claim_kind": "factual"}
    project, folder = f"p-{uuid4().hex[:8]}", f"f-{uuid4().hex[:8]}"
    context = fleet.context(project=project)
    first = value_of(call(fleet, "truth_import", {"folder": folder, "claims": [claim]}, context))
    value = value_of(call(fleet, "truth_prepare", prepare_arguments(folder=folder), context))
    worker = Worker(fleet, value["run_id"], project)
    before = worker.get()
    second = value_of(call(fleet, "truth_import", {"folder": folder, "claims": []}, fleet.context(project=project)))
    assert (first["snapshot"], value["snapshot"], second["snapshot"]) == (1, 1, 2)
    assert [one["claim_id"] for one in before["existing_truth"]["claims"]] == ["c1"]
    assert worker.get() == before


@pytest.mark.parametrize(
    ("size", "code"), [(32_767, None), (32_768, None), (32_769, "passage_too_large"), (1_000_000, "passage_too_large")]
)
def test_passage_is_bounded_when_a_run_is_prepared(fleet: Fleet, lab: LabControl, size: int, code: str | None) -> None:
    """M16: under, at, over, through the door; what is refused leaves nothing."""
    del lab
    context = fleet.context(project=f"p-{uuid4().hex[:8]}")
    envelope = call(fleet, "truth_prepare", prepare_arguments("x" * size), context)
    assert (envelope["error"] or {}).get("code") == code
    stored = rows(fleet, "SELECT count(*) FROM truth_runs WHERE project = %s", context["project"])
    assert stored == [(0 if code else 1,)]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"passage": "x\x00y", "selector": {"start": 0, "end": 3}}, id="NUL"),
        pytest.param({"passage": ""}, id="empty"),
        pytest.param({"selector": {"start": 0, "end": 3}}, id="M17-position-of-another-length"),
        pytest.param({"selector": {"exact": "other", "start": 0, "end": 66}}, id="M17-another-quote"),
        pytest.param({"receipts": [{"span_id": "s", "claim_id": "c"}]}, id="M19-half-a-receipt"),
        pytest.param({"url": "https://good.example/"}, id="M27-a-field-too-many"),
    ],
)
def test_run_is_prepared_of_what_fits_together(fleet: Fleet, lab: LabControl, change: dict[str, Any]) -> None:
    del lab
    envelope = call(fleet, "truth_prepare", prepare_arguments() | change)
    assert (envelope["outcome"], code_of(envelope)) == ("refused", "invalid_arguments")


def test_launch_that_was_cut_short_is_taken_up_again(fleet: Fleet, lab: LabControl) -> None:
    """M10: a worker died between the two moves of a launch."""
    del lab
    worker = prepared(fleet)
    assert move_run(fleet.ledger, worker.run, RunState.PREPARED, RunState.LAUNCHING)
    assert (worker.status()["status"], code_of(worker.call("search", query="x"))) == ("queued", "run_not_launched")
    context = fleet.context(project=worker.project)
    assert value_of(call(fleet, "truth_launch", {"run_id": worker.run}, context))["state"] == "running"


def test_selector_leads_back_to_the_passage(fleet: Fleet, lab: LabControl) -> None:
    """M17, X10: in its document, by position, by quote and by digest."""
    del lab
    document = f"Hear. {PASSAGE} So. {PASSAGE}"
    target = prepared(fleet).get()["target"]
    selector = Selector(exact=target["text"], **target["selector"])
    assert anchor(document, selector) == Span(6, 6 + len(PASSAGE))
    assert target["text_sha256"] == sha256(PASSAGE.encode()).hexdigest()


def test_passage_that_json_escapes_is_refused_whole(fleet: Fleet, lab: LabControl) -> None:
    """M21"""
    del lab
    envelope = call(fleet, "truth_prepare", prepare_arguments("\x01" * 20_000))
    assert (envelope["outcome"], code_of(envelope)) == ("refused", "context_too_large")
