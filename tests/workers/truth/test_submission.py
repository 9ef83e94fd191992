"""Submissions made normal: bounds byte by byte, every quote at its one place, no coverage that was not done."""

import json
from hashlib import sha256
from typing import Any

import pytest

from schemas.errors import InvalidOutput, ReplayChanged
from schemas.folder import Claim, Folder, Support
from schemas.operation import OperationState
from schemas.truth import OUTPUT_BYTES, Output
from schemas.truth_record import Account, Record, coverage_of
from tests.truth_calls import candidate, output
from tests.truth_runs import PASSAGE, draft
from workers.truth.submission import Ground, ground_of, normalise

TEXT = "Basalt is grey. Basalt is old. \U0001f319 shines."
FETCH_ID = "f" * 32
FOLDER = Folder(
    claims=(Claim(claim_id="c1", proposition="It is basalt.", claim_kind="factual"),),
    receipts=(
        Support(span_id="s1", claim_id="c1", quote="q", evidence_id="e", evidence_kind="doc", trust_class="internal"),
    ),
)


def account(value: dict[str, Any] | None, state: str = "completed") -> Account:
    return Account(operation_id="o", state=OperationState(state), code=None, value=value)


def fetched(text: str = TEXT, *, truncated: bool = False, digest: str | None = None) -> Account:
    value = {
        "fetch_id": FETCH_ID,
        "exact_text": text,
        "text_sha256": digest or sha256(text.encode()).hexdigest(),
        "source_url": "https://good.example/",
        "acquisition_metadata": {"text_truncated": truncated},
    }
    return account(value)


SEARCHED = account({"hits": [{"hit_id": "a" * 32}], "provider": "duckduckgo"})
RECORD = Record(searches=(SEARCHED,), fetches=(fetched(),))


def ground(record: Record = RECORD) -> Ground:
    return ground_of(draft(folder=FOLDER), FOLDER, record)


def normal(given: dict[str, Any], record: Record = RECORD) -> Output:
    return normalise(given, ground(record))


def with_evidence(*evidence: dict[str, Any]) -> dict[str, Any]:
    return output(candidates=[candidate(evidence=list(evidence))])


def web(exact: str = "Basalt is old.", **more: Any) -> dict[str, Any]:
    return {"kind": "web_fetch", "fetch_id": FETCH_ID, "selector": {"exact": exact}, "relationship": "supports"} | more


def refused(given: dict[str, Any], record: Record = RECORD) -> InvalidOutput:
    with pytest.raises(InvalidOutput) as caught:
        normal(given, record)
    return caught.value


@pytest.mark.parametrize(
    "filler",
    [
        pytest.param("x", id="ascii"),
        pytest.param("é", id="two-bytes-each"),
        pytest.param("\U0001f319", id="four-bytes-each"),
        pytest.param('"', id="two-bytes-in-json"),
        pytest.param("\x01", id="six-bytes-in-json"),
    ],
)
@pytest.mark.parametrize(("extra", "fits"), [(-1, True), (0, True), (1, False)], ids=["under", "at", "over"])
def test_normalised_output_is_bounded_at_80_000_bytes(filler: str, extra: int, *, fits: bool) -> None:
    """M71: 79,999, 80,000 and 80,001 bytes as they are stored."""
    given = output(candidates=[candidate(proposition=f"{number}. ") for number in range(20)], summary="")
    room = OUTPUT_BYTES + extra - len(normal(given).body.encode())
    size = len(json.dumps(filler, ensure_ascii=False).encode()) - 2
    for one in given["candidates"]:
        count = min(3_900, room // size)
        one["proposition"] += filler * count
        room -= count * size
    given["summary"] = "x" * room
    if fits:
        assert len(normal(given).body.encode()) == OUTPUT_BYTES + extra
    else:
        assert refused(given).facts == {"limit_bytes": 80_000, "bytes": 80_001}


def test_huge_output_is_refused_before_it_is_read() -> None:
    """M71"""
    assert refused(output(summary="x" * 400_000)).facts["limit_bytes"] == 80_000


@pytest.mark.parametrize(("count", "fits"), [(19, True), (20, True), (21, False)])
def test_20_candidates_are_taken(count: int, *, fits: bool) -> None:
    """M72: under, at, over."""
    given = output(candidates=[candidate(proposition=f"Claim {number}.") for number in range(count)])
    if fits:
        assert len(json.loads(normal(given).body)["candidates"]) == count
    else:
        assert refused(given).facts == {"field": "candidates", "reason": "too_long"}


@pytest.mark.parametrize(("count", "fits"), [(9, True), (10, True), (11, False)])
def test_10_pieces_of_evidence_are_taken(count: int, *, fits: bool) -> None:
    """M73: under, at, over."""
    given = with_evidence(*[web() for _ in range(count)])
    if fits:
        assert len(json.loads(normal(given).body)["candidates"][0]["evidence"]) == count
    else:
        assert refused(given).facts["reason"] == "too_long"


@pytest.mark.parametrize(
    ("evidence", "field", "reason"),
    [
        pytest.param(web("Basalt is"), "selector", "ambiguous", id="M76-ambiguous-quote"),
        pytest.param(web("Basalt is green."), "selector", "absent", id="M76-invented-quote"),
        pytest.param(web(fetch_id="0" * 32), "fetch_id", None, id="M75-another-run-s-fetch"),
        pytest.param(web(fetch_id="a" * 32), "fetch_id", None, id="M37-a-hit-is-no-evidence"),
        pytest.param(web(url="https://good.example/"), "web_fetch.url", "extra_forbidden", id="M75-a-field-too-many"),
        pytest.param({"kind": "truth_span", "span_id": "s9", "relationship": "supports"}, "span_id", None,
                     id="M75-span-not-supplied"),
        pytest.param({"kind": "web_search", "hit_id": "a" * 32, "relationship": "supports"}, "", "union_tag_invalid",
                     id="M37-M75-other-kind"),
        pytest.param({"kind": "passage_citation", "selector": {"exact": PASSAGE}, "relationship": "supports"},
                     "passage_citation.relationship", "literal_error", id="M75-the-passage-supports-nothing"),
        pytest.param(web(relationship="proves"), "web_fetch.relationship", "literal_error",
                     id="M75-other-relationship"),
    ],
)  # fmt: skip
def test_evidence_that_is_not_borne_out_is_refused(evidence: dict[str, Any], field: str, reason: str | None) -> None:
    facts = refused(with_evidence(evidence)).facts
    assert (facts["field"], facts.get("reason")) == (f"candidates.0.evidence.0.{field}".rstrip("."), reason)


@pytest.mark.parametrize(
    ("evidence", "attachable"),
    [
        (web(), True),
        (web(relationship="partially_supports"), True),
        (web(relationship="contradicts"), False),
        ({"kind": "truth_span", "span_id": "s1", "relationship": "supports"}, True),
        ({"kind": "passage_citation", "selector": {"exact": "basalt"}, "relationship": "mentions"}, False),
    ],
)
def test_evidence_is_kept_with_whether_a_person_may_attach_it(evidence: dict[str, Any], *, attachable: bool) -> None:
    """M65, M75: nothing is attached by it."""
    [kept] = json.loads(normal(with_evidence(evidence)).body)["candidates"][0]["evidence"]
    assert kept["attachable"] is attachable


@pytest.mark.parametrize("state", ["failed", "outcome_unknown", "pending", "cancelled"])
def test_fetch_that_did_not_complete_is_no_evidence(state: str) -> None:
    """M75"""
    record = Record(searches=(SEARCHED,), fetches=(account(None, state),))
    assert refused(with_evidence(web()), record).facts == {"field": "candidates.0.evidence.0.fetch_id"}


def test_captured_text_that_is_not_the_fetched_one_is_no_ground() -> None:
    """M64, M76"""
    record = Record(searches=(SEARCHED,), fetches=(fetched(digest="0" * 64),))
    with pytest.raises(ReplayChanged):
        normal(with_evidence(web()), record)


def test_quote_is_stored_with_the_text_s_own_words_and_code_points() -> None:
    """M76, X10: white space may differ, and what is stored is the text's."""
    given = with_evidence(web("is  old.\n\U0001f319"))
    [kept] = json.loads(normal(given).body)["candidates"][0]["evidence"]
    quote, position = kept["selector"]
    assert quote["exact"] == TEXT[position["start"] : position["end"]] == "is old. \U0001f319"
    assert (quote["prefix"], quote["suffix"]) == ("Basalt is grey. Basalt ", " shines.")


@pytest.mark.parametrize("exact", ["The moon is cheese.", "cheese", "made of basalt. some"])
def test_expression_that_is_not_once_in_the_passage_is_refused(exact: str) -> None:
    """M78: invented, twice there, of another case."""
    one = candidate()
    one["expression"]["selector"] = {"exact": exact}
    assert refused(output(candidates=[one])).facts["field"] == "candidates.0.expression.selector"


def test_duplicate_claims_are_removed_and_said_to_be() -> None:
    """M79: white space and case make no other claim; another kind does."""
    given = output(
        candidates=[
            candidate(proposition="The moon is basalt."),
            candidate(proposition="the  moon is BASALT."),
            candidate(proposition="The moon is basalt.", claim_kind="definition"),
        ],
        limitations=["One source only."],
    )
    body = json.loads(normal(given).body)
    assert [one["claim_kind"] for one in body["candidates"]] == ["factual", "definition"]
    assert body["limitations"] == ["One source only.", "Duplicate claim candidates removed: 1."]


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        pytest.param({"schema": "outrider/truth-output/2"}, "schema", "literal_error", id="M26-other-literal"),
        pytest.param({"schema": None}, "schema", "literal_error", id="M26-no-literal"),
        pytest.param({"verdict": "true"}, "verdict", "extra_forbidden", id="a-field-too-many"),
        pytest.param({"candidates": [candidate(confidence_extraction=1.5)]}, "candidates.0.confidence_extraction",
                     "less_than_equal", id="confidence-over-one"),
        pytest.param({"candidates": [candidate(confidence_extraction=float("nan"))]}, "output", "canonical",
                     id="no-number"),
        pytest.param({"candidates": "none"}, "candidates", "tuple_type", id="no-list"),
        pytest.param({"limitations": ["x" * 1_001]}, "limitations.0", "string_too_long", id="limitation-too-long"),
        pytest.param({"candidates": [candidate(existing_claim_match={"claim_id": "c9", "relationship": "exact",
                     "confidence": 1})]}, "candidates.0.existing_claim_match", None, id="claim-not-supplied"),
    ],
)  # fmt: skip
def test_output_of_another_shape_is_refused(change: dict[str, Any], field: str, reason: str | None) -> None:
    facts = refused(output(**change)).facts
    assert (facts["field"], facts.get("reason")) == (field, reason)


NOTHING = Record()
PARTIAL = Record(searches=(SEARCHED, account(None, "failed")), fetches=(fetched(),))
CUT = Record(searches=(SEARCHED,), fetches=(fetched(truncated=True),))
FAILED = Record(searches=(account(None, "failed"),))
UNKNOWN = Record(searches=(SEARCHED,), fetches=(account(None, "outcome_unknown"),))


@pytest.mark.parametrize(
    ("record", "status"),
    [(NOTHING, "not_searched"), (RECORD, "searched"), (PARTIAL, "partial"), (CUT, "partial"), (FAILED, "failed"),
     (UNKNOWN, "partial")],
    ids=["nothing", "all", "one-failed", "text-cut", "no-search-completed", "fetch-unknown"],
)  # fmt: skip
def test_coverage_follows_from_the_receipts(record: Record, status: str) -> None:
    """M23"""
    assert coverage_of(record, truncated=False)[2].status == status


@pytest.mark.parametrize(
    ("record", "source", "said"),
    [
        (NOTHING, "web", "searched"),
        (NOTHING, "web", "partial"),
        (FAILED, "web", "partial"),
        (PARTIAL, "web", "searched"),
        (CUT, "web", "searched"),
        (RECORD, "web", "supplied"),
        (RECORD, "selected_passage", "partial"),
        (RECORD, "existing_truth", "partial"),
    ],
)
def test_coverage_that_was_not_done_is_refused(record: Record, source: str, said: str) -> None:
    """M24, M77"""
    given = output(source_coverage=[{"source": source, "status": said}])
    assert refused(given, record).facts == {"source": source, "reported": said}


def test_coverage_of_one_source_is_reported_once() -> None:
    """M77"""
    entry = {"source": "web", "status": "searched"}
    assert refused(output(source_coverage=[entry, entry])).facts == {"source": "web"}


def test_coverage_is_replaced_by_the_server_s() -> None:
    """M77: modesty about the web is corrected; only what was supplied may be said to have been gone through."""
    said = {"selected_passage": "searched", "existing_truth": "searched", "web": "not_searched"}
    given = output(source_coverage=[{"source": source, "status": status} for source, status in said.items()])
    kept = {entry["source"]: entry["status"] for entry in json.loads(normal(given).body)["source_coverage"]}
    assert kept == {"selected_passage": "searched", "existing_truth": "searched", "web": "searched"}


def test_truncated_truth_was_searched_in_part_at_most() -> None:
    """M22, M77"""
    claims = tuple(Claim(claim_id=f"c{n}", proposition="x" * 4_000, claim_kind="k") for n in range(9))
    folder = Folder(claims=claims)
    held = ground_of(draft(folder=folder), folder, RECORD)
    part, whole = ({"source": "existing_truth", "status": status} for status in ("partial", "searched"))
    assert json.loads(normalise(output(source_coverage=[part]), held).body)["source_coverage"][1]["status"] == "partial"
    with pytest.raises(InvalidOutput):
        normalise(output(source_coverage=[whole]), held)


def test_same_submission_gives_the_same_bytes_and_other_words_another_digest() -> None:
    """M74: what distinguishes outputs is what was submitted, and not what the receipts had become meanwhile."""
    run = draft(folder=FOLDER)
    now = ground_of(run, FOLDER, RECORD)
    later = ground_of(run, FOLDER, Record(searches=(SEARCHED, account(None, "failed")), fetches=(fetched(),)))
    first = normalise(with_evidence(web()), now)

    assert normalise(json.loads(json.dumps(with_evidence(web()))), now) == first
    assert normalise(with_evidence(web()), later).submission_sha256 == first.submission_sha256
    assert normalise(with_evidence(web()), later).sha256 != first.sha256
    assert normalise(output(summary="other"), now).submission_sha256 != first.submission_sha256
