"""The worker's context within its bounds, byte by byte (M16-M25, M28)."""

from dataclasses import replace
from typing import Any

import pytest

from schemas.errors import ContextChanged, ContextTooLarge, PassageTooLarge
from schemas.folder import Claim, Folder, Support
from schemas.receipt import canonical
from schemas.truth import CONTEXT_BYTES
from schemas.truth_context import bounded, context_of, existing_truth, seal, size_of
from schemas.truth_record import Record
from tests.truth_runs import draft


def claim(number: int, proposition: str = "It is basalt.", **more: Any) -> Claim:
    return Claim(claim_id=f"c{number:04}", proposition=proposition, claim_kind="factual", **more)


def support(number: int, claim_id: str = "c0000", quote: str = "Basalt it is.") -> Support:
    return Support(
        span_id=f"s{number:04}",
        claim_id=claim_id,
        quote=quote,
        evidence_id=f"e{number}",
        evidence_kind="document",
        trust_class="internal",
    )


def with_claim_bytes(count: int) -> Folder:
    """A folder whose claims are `count` bytes as one JSON list."""
    claims = [claim(number, "x" * 3_000) for number in range(count // 3_600)]
    claims.append(claim(9_999, "y"))
    missing = count - size_of(existing_truth(Folder(claims=tuple(claims)))["claims"])
    return Folder(claims=(*claims[:-1], claim(9_999, "y" * (missing + 1))))


@pytest.mark.parametrize(
    ("passage", "fits"),
    [
        pytest.param("x" * 32_767, True, id="M16-under"),
        pytest.param("x" * 32_768, True, id="M16-at"),
        pytest.param("x" * 32_769, False, id="M16-over"),
        pytest.param("é" * 16_384, True, id="M16-two-byte-characters-at"),
        pytest.param("é" * 16_384 + "x", False, id="M16-two-byte-characters-over"),
        pytest.param("\U0001f319" * 8_192, True, id="M16-four-byte-characters-at"),
        pytest.param("\U0001f319" * 8_193, False, id="M16-four-byte-characters-over"),
    ],
)
def test_passage_is_bounded_in_bytes_of_utf_8(passage: str, *, fits: bool) -> None:
    if fits:
        assert context_of(draft(passage), Folder(), Record())["target"]["text"] == passage
    else:
        with pytest.raises(PassageTooLarge):
            draft(passage)


@pytest.mark.parametrize(("count", "supplied"), [(199, 199), (200, 200), (201, 200)])
def test_200_claims_are_supplied_at_most(count: int, supplied: int) -> None:
    """M18, M22: under, at, over."""
    claims = tuple(Claim(claim_id=f"c{n}", proposition="x", claim_kind="k") for n in range(count))
    fields = [one.model_dump() for one in claims]
    assert len(bounded(fields, 200, 10**9)) == supplied
    told = existing_truth(Folder(claims=claims))
    assert told["totals"]["claims"] == count
    assert told["claims_truncated"] is (len(told["claims"]) < count)


@pytest.mark.parametrize(
    ("size", "truncated"),
    [
        pytest.param(18_431, False, id="M18-under"),
        pytest.param(18_432, False, id="M18-at"),
        pytest.param(18_433, True, id="M18-over"),
    ],
)
def test_claims_are_bounded_in_serialized_bytes(size: int, *, truncated: bool) -> None:
    told = existing_truth(with_claim_bytes(size))
    assert told["claims_truncated"] is truncated
    assert size_of(told["claims"]) == (size if not truncated else size_of(told["claims"])) <= 18_432


@pytest.mark.parametrize(
    ("extra", "truncated"),
    [
        pytest.param(0, False, id="M19-at"),
        pytest.param(-1, False, id="M19-under"),
        pytest.param(1, True, id="M19-over"),
    ],
)
def test_receipts_are_bounded_in_serialized_bytes(extra: int, *, truncated: bool) -> None:
    many = [support(number, quote="q" * 1_000) for number in range(7)]
    last = support(99, quote="z")
    missing = 10_240 - size_of(existing_truth(Folder(claims=(claim(0),), receipts=(*many, last)))["receipts"])
    last = support(99, quote="z" * (1 + missing + extra))
    told = existing_truth(Folder(claims=(claim(0),), receipts=(*many, last)))
    assert told["receipts_truncated"] is truncated
    assert len(told["receipts"]) == (7 if truncated else 8)
    assert size_of(told["receipts"]) <= 10_240


@pytest.mark.parametrize(("count", "supplied"), [(199, 199), (200, 200), (201, 200)])
def test_200_receipts_are_supplied_at_most(count: int, supplied: int) -> None:
    """M19: under, at, over, of receipts so small that the bytes do not decide."""
    assert len(bounded([{"n": n} for n in range(count)], 200, 10_240)) == supplied


def test_one_claim_too_large_is_passed_over_and_those_behind_it_are_supplied() -> None:
    """M18, M22: greedy and whole: nothing is cut."""
    large = [claim(number, '"' * 4_000) for number in (0, 1, 2)]
    folder = Folder(claims=(*large, claim(7), claim(8, '"' * 4_000)))
    told = existing_truth(folder)
    assert [one["claim_id"] for one in told["claims"]] == ["c0000", "c0001", "c0007"]
    assert told["totals"] == {"claims": 5, "receipts": 0}


def test_inactive_claims_and_receipts_of_claims_that_are_not_supplied_stay_out() -> None:
    """M18, M19, M22"""
    folder = Folder(
        claims=(claim(0), claim(1, active=False)), receipts=(support(0), support(1, "c0001"), support(2, "c0000"))
    )
    told = existing_truth(folder)
    assert [one["span_id"] for one in told["receipts"]] == ["s0000", "s0002"]
    assert told["totals"] == {"claims": 1, "receipts": 2}
    assert not told["receipts_truncated"]


def test_largest_truth_and_largest_plain_passage_fit_together() -> None:
    """M20, M21: at the bound of everything at once, the whole is within its own."""
    claims = with_claim_bytes(18_432).claims
    receipts = tuple(support(n, claims[0].claim_id, "q" * 900) for n in range(12))
    folder = Folder(claims=claims, receipts=receipts)
    run = draft("é" * 16_384, folder)
    told = context_of(run, folder, Record())
    assert size_of(told["existing_truth"]) <= 32_768
    assert len(canonical(told).encode()) <= CONTEXT_BYTES


@pytest.mark.parametrize(("extra", "fits"), [(-1, True), (0, True), (1, False)])
def test_whole_context_is_bounded_where_json_escapes(extra: int, *, fits: bool) -> None:
    """M21: under, at, over 90,000 bytes: a passage of quotes and controls doubles and grows sixfold, and is not cut."""
    empty = size_of(context_of(draft("x"), Folder(), Record())) - 1
    digits = 2 * (len("12345") - 1)  # the selector's end and the passage's own length in it
    room = CONTEXT_BYTES - empty - digits // 2
    controls, left = divmod(room - 2 * 20_000, 6)
    passage = '"' * 20_000 + "\x01" * controls + "x" * (left + extra)
    if fits:
        assert size_of(context_of(draft(passage), Folder(), Record())) == CONTEXT_BYTES + extra
    else:
        with pytest.raises(ContextTooLarge):
            draft(passage)


@pytest.mark.parametrize("field", ["passage", "document", "selector", "folder"])
def test_context_that_is_not_what_was_prepared_is_not_given(field: str) -> None:
    """M28"""
    run, folder = draft(), Folder()
    if field == "folder":
        folder = Folder(claims=(claim(0),))
    else:
        run = replace(run, **{field: "other" if field == "passage" else {"id": "other"}})
    with pytest.raises(ContextChanged):
        context_of(run, folder, Record())


def test_context_tells_the_research_limits_and_keeps_two_costs_apart() -> None:
    """M25, M30, M68"""
    told = context_of(draft(), Folder(), Record())["web_tools"]
    assert [told[name] for name in ("queries_max", "hits_per_query_max", "fetches_max")] == [3, 5, 5]
    assert [told[name] for name in ("response_bytes_max", "captured_text_bytes_max")] == [524_288, 65_536]
    assert "no enforced monetary ceiling" in told["cost"]
    assert "$" not in told["cost"]


def test_seal_is_over_what_is_frozen_alone() -> None:
    """M28: the same input has the same digest."""
    run = draft()
    assert seal(replace(run, context_sha256=""), Folder()) == run
