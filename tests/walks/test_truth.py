"""A whole truth-analysis run in the private internet, from its passage to its staged output and its receipts."""

import json
from hashlib import sha256

from broker.ledger.chains import read_chain
from ops.lab.control import LabControl
from schemas.findings import verify
from tests.fleet import Fleet
from tests.truth_calls import call, candidate, find, launched, output, prepare_arguments, prepared, value_of


def test_run_goes_from_its_passage_to_one_staged_output(fleet: Fleet, lab: LabControl) -> None:
    """M1, M10, M16-M26, M60-M65, M80, M81, X8: two searches, three fetches, one output; the chain verifies."""
    find(lab, "https://counted.example/plain/moon", "https://text.example/", "https://docs.example/")
    worker = launched(fleet)
    first = worker.get()
    assert first["target"]["text_sha256"] == sha256(first["target"]["text"].encode()).hexdigest()
    assert {entry["source"]: entry["status"] for entry in first["source_coverage"]} == {
        "selected_passage": "supplied",
        "existing_truth": "supplied",
        "web": "not_searched",
    }
    hits = worker.hits()
    worker.hits("basalt crust")
    fetched = [value_of(worker.call("fetch", hit_id=hit["hit_id"])) for hit in hits]
    text = fetched[1]["exact_text"]
    assert fetched[1]["text_sha256"] == sha256(text.encode()).hexdigest()
    quote = {"kind": "web_fetch", "fetch_id": fetched[1]["fetch_id"], "relationship": "supports"}
    given = candidate(evidence=[quote | {"selector": {"exact": "It has two paragraphs"}}])
    coverage = [{"source": "web", "status": "searched"}, {"source": "selected_passage", "status": "searched"}]
    submitted = worker.call("job_submit", output=output(candidates=[given], source_coverage=coverage))
    receipt = value_of(submitted)
    assert set(receipt) == {"ok", "schema", "analysis_run_id", "status", "output_sha256"}
    status = worker.status()
    assert (status["state"], status["output_sha256"]) == ("completed", receipt["output_sha256"])
    [entry] = status["output"]["candidates"][0]["evidence"]
    assert entry["attachable"] is True
    position = entry["selector"][1]
    assert text[position["start"] : position["end"]] == "It has two paragraphs"
    chain = read_chain(fleet.ledger, worker.project, worker.run)
    assert [link.row.tool.rpartition("_")[2] for link in chain.links] == ["search"] * 2 + ["fetch"] * 3 + ["submit"]
    assert verify(chain) == ()
    last = json.loads(chain.links[-1].body)
    assert (last["output_sha256"], chain.links[-1].digest) == (status["output_sha256"], submitted["receipt"]["digest"])
    assert json.loads(chain.links[2].body)["value"] == fetched[0]


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
    worker = prepared(fleet)
    assert json.dumps(worker.get()) == json.dumps(worker.get())
