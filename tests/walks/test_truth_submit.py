"""Submissions through the Celery door: one output a run, every quote borne out, no coverage that was not done."""

import json
from typing import Any

import pytest

from ops.lab.control import LabControl
from tests.fleet import Fleet
from tests.stores import rows
from tests.truth_calls import PASSAGE, Worker, candidate, code_of, find, launched, output, prepare_arguments, value_of
from tests.truth_runs import age


def researched(fleet: Fleet, lab: LabControl) -> tuple[Worker, str]:
    """A run that has fetched one page, with the fetch's id."""
    find(lab, "https://text.example/")
    worker = launched(fleet)
    [hit] = worker.hits()
    return worker, value_of(worker.call("fetch", hit_id=hit["hit_id"]))["fetch_id"]


def cited(fetch_id: str, exact: str, **selector: Any) -> dict[str, Any]:
    """An output whose one candidate quotes a fetched page."""
    evidence = {"kind": "web_fetch", "fetch_id": fetch_id, "relationship": "supports"}
    return output(candidates=[candidate(evidence=[evidence | {"selector": {"exact": exact, **selector}}])])


def books(fleet: Fleet) -> list[Any]:
    """Everything that a submission may not touch."""
    tables = ("truth_folders", "truth_outputs", "operations", "receipts", "audit")
    return [rows(fleet, f"SELECT count(*) FROM {table}") for table in tables]  # noqa: S608 - constants


@pytest.mark.parametrize(
    ("fetch", "exact", "field"),
    [
        pytest.param("own", "a", "candidates.0.evidence.0.selector", id="M76-ambiguous"),
        pytest.param("own", "The moon is cheese.", "candidates.0.evidence.0.selector", id="M76-invented"),
        pytest.param("foreign", "A plain text.", "candidates.0.evidence.0.fetch_id", id="M75-another-run-s-fetch"),
        pytest.param("none", "A plain text.", "candidates.0.evidence.0.fetch_id", id="M75-no-fetch"),
    ],
)
def test_quote_that_is_not_borne_out_is_refused_and_nothing_is_recorded(
    fleet: Fleet, lab: LabControl, fetch: str, exact: str, field: str
) -> None:
    """M75, M76, M80: the run goes on, and takes a right output afterwards."""
    (worker, own), (_, foreign) = researched(fleet, lab), researched(fleet, lab)
    before = books(fleet)
    fetch_id = {"own": own, "foreign": foreign, "none": "0" * 32}[fetch]
    refused = worker.call("job_submit", output=cited(fetch_id, exact))
    assert (refused["outcome"], code_of(refused)) == ("refused", "invalid_output")
    assert refused["error"]["facts"]["field"] == field
    assert books(fleet) == before
    assert worker.status()["state"] == "running"
    assert value_of(worker.call("job_submit", output=cited(own, "A plain text.")))["status"] == "completed"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(output(candidates=[candidate(proposition=f"{n}.") for n in range(21)]), id="M72-21-claims"),
        pytest.param(output(schema="outrider/truth-output/0"), id="M26-other-schema"),
        pytest.param(output(candidates=[candidate("The moon is cheese.")]), id="M78-not-in-the-passage"),
        pytest.param(output(source_coverage=[{"source": "web", "status": "searched"}]), id="M24-M77-forged-coverage"),
        pytest.param(output(source_coverage=[{"source": "web", "status": "partial"}]), id="M24-M77-forged-in-part"),
        pytest.param({}, id="M26-empty"),
    ],
)
def test_output_is_refused_with_its_code(fleet: Fleet, lab: LabControl, given: dict[str, Any]) -> None:
    del lab
    worker = launched(fleet)
    envelope = worker.call("job_submit", output=given)
    assert (envelope["outcome"], code_of(envelope)) == ("refused", "invalid_output")
    assert rows(fleet, "SELECT count(*) FROM truth_outputs WHERE run = %s", worker.run) == [(0,)]


@pytest.mark.parametrize(("size", "code"), [(79_999, None), (80_000, None), (80_001, "invalid_output")])
def test_normalised_output_is_bounded(fleet: Fleet, lab: LabControl, size: int, code: str | None) -> None:
    """M71: under, at, over, of what is stored; with characters that JSON escapes and characters of four bytes."""
    del lab
    worker = launched(fleet)
    given = output(candidates=[candidate(proposition=f"{number}. ") for number in range(20)], summary="")
    room = size - stored_bytes(worker.run, given)
    for filler, one in zip(['"', "\U0001f319"] * 10, given["candidates"], strict=True):
        count = min(900, room // 4)
        one["proposition"] += filler * count
        room -= count * (2 if filler == '"' else 4)
    for one in given["candidates"]:
        count = min(2_000, room)
        one["proposition"] += "x" * count
        room -= count
    envelope = worker.call("job_submit", output=given)
    assert (envelope["error"] or {}).get("code") == code
    kept = rows(fleet, "SELECT octet_length(body) FROM truth_outputs WHERE run = %s", worker.run)
    assert kept == ([] if code else [(size,)])


def stored_bytes(run: str, given: dict[str, Any]) -> int:
    """How large an output without coverage is as it is stored, by a second writing of its form."""
    exact = given["candidates"][0]["expression"]["selector"]["exact"]
    selector = [
        {"type": "TextQuoteSelector", "exact": exact, "prefix": "", "suffix": PASSAGE[len(exact) :]},
        {"type": "TextPositionSelector", "start": 0, "end": len(exact)},
    ]
    more = {"evidence": [], "existing_claim_match": None, "limitations": []}
    candidates = [one | more | {"expression": {"role": "asserts", "selector": selector}} for one in given["candidates"]]
    coverage = [
        {"source": "selected_passage", "status": "supplied", "detail": "Supplied whole."},
        {"source": "existing_truth", "status": "supplied", "detail": "Supplied whole."},
        {
            "source": "web",
            "status": "not_searched",
            "detail": "Queries: 0 of 3, completed 0. Fetches: 0 of 5, completed 0.",
        },
    ]
    whole = given | {"candidates": candidates, "limitations": [], "source_coverage": coverage, "analysis_run_id": run}
    return len(json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode())


def test_same_output_again_is_the_same_receipt_and_another_one_a_conflict(fleet: Fleet, lab: LabControl) -> None:
    """M74, M81"""
    worker, fetch_id = researched(fleet, lab)
    given = cited(fetch_id, "A plain text.")
    first, again = (worker.call("job_submit", output=given) for _ in range(2))
    assert (first["replayed"], again["replayed"], again["value"]) == (False, True, first["value"])
    assert first["receipt"] == again["receipt"] is not None
    assert list(first["value"]) == ["ok", "schema", "analysis_run_id", "status", "output_sha256"]
    other = worker.call("job_submit", output=output(summary="Another view."))
    assert (other["outcome"], code_of(other)) == ("refused", "output_conflict")
    assert code_of(worker.call("job_submit", output={})) == "invalid_output"
    assert worker.status()["output_sha256"] == first["value"]["output_sha256"]
    assert code_of(worker.call("fetch", hit_id="0" * 32)) == "run_terminal"


def test_one_of_20_racing_outputs_completes_the_run(fleet: Fleet, lab: LabControl) -> None:
    """M74: ten of one kind and ten of another; whoever agrees with the first has its receipt."""
    del lab
    worker = launched(fleet)
    handles = [worker.send("job_submit", output=output(summary=f"View {number % 2}.")) for number in range(20)]
    envelopes = [fleet.reply(handle, 90) for handle in handles]
    assert sum(one["outcome"] == "completed" and not one["replayed"] for one in envelopes) == 1
    ends = [one["outcome"] if one["error"] is None else code_of(one) for one in envelopes]
    assert (ends.count("completed"), ends.count("output_conflict")) == (10, 10)
    assert len({one["value"]["output_sha256"] for one in envelopes if one["value"]}) == 1


def test_existing_truth_is_supplied_cited_and_left_alone(fleet: Fleet, lab: LabControl) -> None:
    """M18, M19, M75, M80: a span of the context is evidence; the folder is not written to."""
    del lab
    claim = {"claim_id": "c1", "proposition": "The moon is basalt.", "claim_kind": "factual"}
    receipt = {"span_id": "s1", "claim_id": "c1", "quote": "basalt", "evidence_id": "e1"}
    receipt |= {"evidence_kind": "document", "trust_class": "internal"}
    worker = launched(fleet, prepare_arguments(claims=[claim], receipts=[receipt]))
    truth = worker.get()["existing_truth"]
    assert ([one["claim_id"] for one in truth["claims"]], [one["span_id"] for one in truth["receipts"]]) == (
        ["c1"],
        ["s1"],
    )
    before = books(fleet)
    match = {"claim_id": "c1", "relationship": "exact", "confidence": 1}
    evidence = [{"kind": "truth_span", "span_id": "s1", "relationship": "supports"}]
    value_of(
        worker.call("job_submit", output=output(candidates=[candidate(existing_claim_match=match, evidence=evidence)]))
    )
    grown = [new[0][0] - old[0][0] for old, new in zip(before, books(fleet), strict=True)]
    assert grown == [0, 1, 1, 1, 0]  # one output and its one receipt


def test_late_output_is_refused(fleet: Fleet, lab: LabControl) -> None:
    """M14: the work of thirty minutes is not taken a second after them."""
    del lab
    worker = launched(fleet)
    age(fleet.ledger, worker.run, 1_800)
    assert code_of(worker.call("job_submit", output=output())) == "execution_deadline_exceeded"
    assert worker.status()["output"] is None
