"""Completed truth-analysis runs in a ledger, made through its own doors, for those who review them."""

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine

from broker.ledger.operations import admit, settle
from broker.ledger.truth_folders import import_folder
from broker.ledger.truth_records import read_record
from broker.ledger.truth_runs import complete_run
from schemas.folder import Claim, Folder, Support
from schemas.operation import Lease
from schemas.profiles import TRUTH_SEARCH
from schemas.receipt import canonical
from schemas.tools.cowork_truth_analysis_search import TOOL as SEARCH
from schemas.truth import Run, own_id
from tests.ledger_calls import ending, failed, request
from tests.truth_calls import candidate, output
from tests.truth_runs import fetch_request, stored
from workers.truth.submission import account, ground_of, normalise

PROJECT = "X"
URL = "https://moon.example/basalt?page=2#top"
# Markup, a word that would be read backwards, a bell, a zero-width space; the quote stands across some of it.
TEXT = (
    "<h1>Basalt</h1> The mare basalts are \u202edetad\u202c 3.5 billion years old.\x1b[31m\n"
    '<script>document.title = "owned"</script><mark>not ours</mark>\u200b Cheese & "wine" was never found.'
)
QUOTE = "basalts are \u202edetad\u202c 3.5 billion years"
SECOND = "3.5 billion years old"
CLAIM = "A claim of the folder & <b>its</b> words"
FOLDER = Folder(
    claims=(Claim(claim_id="c1", proposition=CLAIM, claim_kind="factual"),),
    receipts=(
        Support(span_id="s1", claim_id="c1", quote="q", evidence_id="e", evidence_kind="doc", trust_class="internal"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A completed run: where it is, its output, and its candidates' hashes, in their order."""

    run: Run
    output_sha256: str
    candidates: tuple[str, ...]
    receipt: str
    receipt_digest: str

    @property
    def place(self) -> str:
        return f"{self.run.project}/reviews/{self.run.id}"

    def page(self, number: int = 0) -> str:
        return f"/admin/projects/{self.place}/candidates/{self.candidates[number]}"

    def decision(self, number: int = 0, **more: Any) -> dict[str, Any]:
        """A decision on one candidate, as the API takes it."""
        told = {"candidateSha256": self.candidates[number], "outputSha256": self.output_sha256}
        return told | {"decision": "save_as_proposed"} | more


def completed(ledger: Engine, *, project: str = PROJECT, text: str = TEXT) -> Completed:
    """A run with a search, a failed one, a fetch, and three candidates: quoting, matching a claim, without evidence."""
    snapshot = import_folder(ledger, project, "f", FOLDER)
    run = stored(ledger, folder=FOLDER, project=project, snapshot=snapshot, document={"id": "d", "title": "Moon <i>"})
    search(ledger, run, "moon basalt")
    settle(ledger, admit(ledger, search_request(run, "moon cheese")), failed("source_blocked"))
    fetch = own_id(run.id, "fetch", "h1")
    settled = fetched(ledger, run, fetch, text)
    record = read_record(ledger, run.project, run.id)
    told = normalise(submission(fetch), ground_of(run, FOLDER, record))
    one = request(key=f"{run.id}/submit", run=run.id, project=project)
    assert complete_run(ledger, run.id, told, one, account(one, run, told))
    hashes = [sha256(canonical(each).encode()).hexdigest() for each in json.loads(told.body)["candidates"]]
    return Completed(
        run=run,
        output_sha256=told.sha256,
        candidates=tuple(hashes),
        receipt=settled.operation_id,
        receipt_digest=str(record.fetches[0].digest),
    )


def submission(fetch: str) -> dict[str, Any]:
    """What the model worker submits."""
    web = {"kind": "web_fetch", "fetch_id": fetch}
    evidence = [
        {**web, "relationship": "supports", "selector": {"exact": QUOTE}},
        {**web, "relationship": "partially_supports", "selector": {"exact": SECOND}},
        {**web, "relationship": "contradicts", "selector": {"exact": "never found"}},
        {"kind": "truth_span", "span_id": "s1", "relationship": "supports"},
        {"kind": "passage_citation", "relationship": "mentions", "selector": {"exact": "Some say cheese"}},
    ]
    match = {"claim_id": "c1", "relationship": "overlaps", "confidence": 0.5}
    return output(
        summary='Basalt, <img src=x onerror="alert(1)">.',
        candidates=[
            candidate(evidence=evidence),
            candidate("cheese it is not", existing_claim_match=match),
            candidate("Some say cheese"),
        ],
        source_coverage=[{"source": "selected_passage", "status": "searched"}],
    )


def search_request(run: Run, query: str) -> Any:
    one = request(key=f"{run.id}/search/{query}", run=run.id, project=run.project)
    return replace(one, tool=replace(SEARCH, profile=TRUTH_SEARCH))


def search(ledger: Engine, run: Run, query: str) -> None:
    lease = admit(ledger, search_request(run, query))
    assert isinstance(lease, Lease)
    hits = [{"hit_id": "h1", "title": "Basalt", "url": URL}]
    settle(ledger, lease, ending(value={"query": query, "provider": "duckduckgo", "hits": hits}))


def fetched(ledger: Engine, run: Run, fetch: str, text: str) -> Lease:
    lease = admit(ledger, fetch_request(run, "h1", project=run.project))
    assert isinstance(lease, Lease)
    value = {
        "fetch_id": fetch,
        "hit_id": "h1",
        "requested_url": "http://moon.example/",
        "source_url": URL,
        "title": "Basalt of the <moon>",
        "exact_text": text,
        "text_sha256": sha256(text.encode()).hexdigest(),
        "acquisition_metadata": {"text_truncated": True},
        "acquired_at": "2026-11-30T12:00:00.000+00:00",
    }
    settle(ledger, lease, ending(value=value))
    return lease
