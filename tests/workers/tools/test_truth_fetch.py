"""The truth fetch's handler: the captured text at its bound, and what its receipt says of the whole (M60-M63)."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.document import Document
from schemas.operation import BudgetLeft
from schemas.profiles import TRUTH_FETCH
from schemas.reply import Reply
from schemas.tools.cowork_truth_analysis_fetch import Args, Result
from workers.bench import Bench
from workers.tools.cowork_truth_analysis_fetch import Plan, cowork_truth_analysis_fetch

PLACE = Destination.parse("https://good.example/page")
BOUND = 65_536


def captured(text: str, *, source_truncated: bool = False) -> Result:
    reply = Reply(
        place=PLACE,
        status=200,
        headers=(),
        content_type="text/plain",
        body=b"",
        completeness="complete",
        wire_bytes=7,
        http_version="1.1",
        retrieved_at=datetime(2026, 11, 30, tzinfo=UTC),
        redirects=1,
        came_by=("https://first.example/",),
    )
    page = Document(kind="text", charset="utf-8", title="T", text=text, source_truncated=source_truncated)
    bench = Bench(
        limits=TRUTH_FETCH.limits,
        deadline=Deadline.after(20),
        budget=BudgetLeft(4, 4),
        ride=lambda _place: reply,
        read=lambda _reply: page,
        apart=lambda reader, given: reader(given.body, given.content_type),
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
        progress=lambda _stage, _facts: None,
    )
    plan = Plan(hit={"title": "The hit's", "provider": "duckduckgo"}, place=Destination.parse("https://first.example/"))
    args = Args(hit_id="a" * 32, run_id="r")
    result = cowork_truth_analysis_fetch.perform(args, plan, bench)
    assert isinstance(result, Result)
    return result


@pytest.mark.parametrize(
    ("text", "kept_bytes"),
    [
        pytest.param("x" * (BOUND - 1), BOUND - 1, id="under"),
        pytest.param("x" * BOUND, BOUND, id="at"),
        pytest.param("x" * (BOUND + 1), BOUND, id="over"),
        pytest.param("é" * (BOUND // 2), BOUND, id="two-byte-characters-at"),
        pytest.param("x" + "é" * (BOUND // 2), BOUND - 1, id="cut-before-a-two-byte-character"),
        pytest.param("x" + "\U0001f319" * (BOUND // 4), BOUND - 3, id="cut-before-a-four-byte-character"),
        pytest.param("xx" + "\u20ac" * (BOUND // 3), BOUND - 2, id="cut-before-a-three-byte-character"),
        pytest.param('"' * BOUND, BOUND, id="characters-that-double-in-json"),
    ],
)
def test_text_is_captured_up_to_64_kib_of_utf_8_at_a_code_point(text: str, kept_bytes: int) -> None:
    """M61-M63: bytes, digests and the flag are those of the very texts."""
    result = captured(text)
    told = result.acquisition_metadata
    assert len(result.exact_text.encode()) == told.captured_text_bytes == kept_bytes
    assert text.startswith(result.exact_text)
    assert told.extracted_text_bytes == len(text.encode())
    assert told.full_extracted_text_sha256 == sha256(text.encode()).hexdigest()
    assert result.text_sha256 == told.captured_text_sha256 == sha256(result.exact_text.encode()).hexdigest()
    assert told.text_truncated is (kept_bytes < len(text.encode()))
    assert (told.full_extracted_text_sha256 == told.captured_text_sha256) is not told.text_truncated


def test_text_that_extraction_cut_is_said_to_be_cut() -> None:
    """M62"""
    assert captured("short", source_truncated=True).acquisition_metadata.text_truncated


def test_receipt_tells_everything_of_its_source() -> None:
    """M60, M65"""
    told = captured("Words.").model_dump(mode="json")
    assert told["requested_url"] == "https://first.example/"
    assert told["redirect_chain"] == ["https://first.example/", "https://good.example/page"]
    assert (told["title"], told["page_title"]) == ("The hit's", "T")
    assert (told["source_url"], told["media_type"], told["http_status"]) == (PLACE.href, "text/plain", 200)
    assert (told["extractor"], told["provider"]) == ("outrider/text", "duckduckgo")
    assert told["trust_class"] == "external_quarantined"
    assert told["acquisition_metadata"]["limits"] == {
        "deadline_seconds": 20,
        "request_seconds": 10,
        "redirects_max": 5,
        "response_bytes": 524_288,
        "captured_text_bytes": 65_536,
    }
