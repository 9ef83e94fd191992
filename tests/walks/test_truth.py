"""A whole truth-analysis run in the private internet, from its passage to its staged output and its receipts."""

import json
from hashlib import sha256
from typing import Any

from broker.ledger.chains import read_chain
from ops.lab.control import LabControl
from schemas.findings import verify
from tests.fleet import Fleet
from tests.truth_calls import PASSAGE, Worker, call, candidate, find, launched, output, prepare_arguments, value_of

QUOTE = "It has two paragraphs"


def coverage_of(context: dict[str, Any]) -> dict[str, str]:
    """What the server says of each source."""
    return {entry["source"]: entry["status"] for entry in context["source_coverage"]}


def carried_out(fleet: Fleet, lab: LabControl) -> tuple[Worker, list[dict[str, Any]], dict[str, Any]]:
    """A run with two searches, three fetches and its output; what was fetched, and the submission's envelope."""
    find(lab, "https://counted.example/plain/moon", "https://text.example/", "https://docs.example/")
    worker = launched(fleet)
    hits = worker.hits()
    worker.hits("basalt crust")
    fetched = [value_of(worker.call("fetch", hit_id=hit["hit_id"])) for hit in hits]
    quote = {"kind": "web_fetch", "fetch_id": fetched[1]["fetch_id"], "relationship": "supports"}
    given = candidate(evidence=[quote | {"selector": {"exact": QUOTE}}])
    coverage = [{"source": "web", "status": "searched"}, {"source": "selected_passage", "status": "searched"}]
    return worker, fetched, worker.call("job_submit", output=output(candidates=[given], source_coverage=coverage))


def test_run_goes_from_its_passage_to_one_staged_output(fleet: Fleet, lab: LabControl) -> None:
    """M1, M10, M60-M65, M77, M80, M81: what was submitted is kept, each quote at its place in the captured text."""
    worker, fetched, submitted = carried_out(fleet, lab)
    receipt, status = value_of(submitted), worker.status()
    assert set(receipt) == {"ok", "schema", "analysis_run_id", "status", "output_sha256"}
    assert (status["state"], status["output_sha256"]) == ("completed", receipt["output_sha256"])
    assert [move["state"] for move in status["moves"]] == ["prepared", "launching", "running", "completed"]
    assert coverage_of(status) == {"selected_passage": "searched", "existing_truth": "supplied", "web": "searched"}
    text = fetched[1]["exact_text"]
    assert fetched[1]["text_sha256"] == sha256(text.encode()).hexdigest()
    [entry] = status["output"]["candidates"][0]["evidence"]
    place = entry["selector"][1]
    assert (entry["attachable"], text[place["start"] : place["end"]]) == (True, QUOTE)


def test_run_s_receipts_tell_all_of_it_and_its_logs_nothing(fleet: Fleet, lab: LabControl) -> None:
    """X8, M64: one chain of searches, fetches and the submission; no passage, query, address or text is logged."""
    worker, fetched, submitted = carried_out(fleet, lab)
    chain = read_chain(fleet.ledger, worker.project, worker.run)
    assert [link.row.tool.rpartition("_")[2] for link in chain.links] == ["search"] * 2 + ["fetch"] * 3 + ["submit"]
    assert verify(chain) == ()
    last = json.loads(chain.links[-1].body)
    assert last["output_sha256"] == value_of(submitted)["output_sha256"]
    assert chain.links[-1].digest == submitted["receipt"]["digest"]
    assert json.loads(chain.links[2].body)["value"] == fetched[0]
    told = fleet.logs()
    assert not [word for word in (PASSAGE, "moon basalt", "plain/moon", QUOTE, "two paragraphs") if word in told]


def test_context_tells_the_passage_the_limits_and_that_nothing_was_done(fleet: Fleet, lab: LabControl) -> None:
    """M16, M17, M23, M25, M26"""
    del lab
    told = launched(fleet).get()
    assert told["target"]["text"] == PASSAGE
    assert told["target"]["text_sha256"] == sha256(PASSAGE.encode()).hexdigest()
    assert coverage_of(told) == {"selected_passage": "supplied", "existing_truth": "supplied", "web": "not_searched"}
    assert told["output_schema"]["properties"]["schema"] == {"const": "outrider/truth-output/1", "type": "string"}


def test_prepare_gives_the_same_run_for_the_same_call(fleet: Fleet, lab: LabControl) -> None:
    """M10, M11: a repeated call is the same run; other arguments under its name are a conflict."""
    del lab
    context = fleet.context(call=f"c-{fleet.project()}")
    arguments = prepare_arguments()
    first = value_of(call(fleet, "truth_prepare", arguments, context))
    second = value_of(call(fleet, "truth_prepare", arguments, context))
    other = call(fleet, "truth_prepare", prepare_arguments("Another passage."), context)
    assert first == second
    assert first["session"] == f"{first['run_id']}-cowork-truth-analysis"
    assert other["error"]["code"] == "call_conflict"


def test_reading_a_live_run_changes_nothing(fleet: Fleet, lab: LabControl) -> None:
    """M29: two reads are equal, byte for byte."""
    del lab
    worker = launched(fleet)
    assert json.dumps(worker.get()) == json.dumps(worker.get())
