"""web_fetch's handler: paging, bounds and what a continuation is bound to. The road and the reader are arguments."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.document import Document, Link
from schemas.errors import ChangedContent, InvalidArguments
from schemas.operation import BudgetLeft
from schemas.profiles import WEB_FETCH
from schemas.reply import Reply
from schemas.tools.web_fetch import Args, Result
from workers.bench import Bench
from workers.tools.web_fetch import web_fetch

PLACE = Destination.parse("https://good.example/page")


def bench_of(document: Document) -> Bench:
    reply = Reply(
        place=PLACE,
        status=200,
        headers=(),
        content_type="text/html",
        body=b"",
        completeness="complete",
        wire_bytes=0,
        http_version="1.1",
        retrieved_at=datetime(2026, 11, 30, tzinfo=UTC),
    )
    return Bench(
        limits=WEB_FETCH.limits,
        deadline=Deadline.after(30),
        budget=BudgetLeft(39, 199),
        ride=lambda _place: reply,
        read=lambda _reply: document,
        apart=lambda reader, reply: reader(reply.body, reply.content_type),
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
        progress=lambda _stage, _facts: None,
    )


def page(text: str, **more: object) -> Document:
    return replace(Document(kind="html", charset="utf-8", title="T", text=text), **more)


def read(document: Document, **arguments: object) -> Result:
    args = Args.model_validate({"url": PLACE.href, **arguments})
    result = web_fetch.perform(args, PLACE, bench_of(document))
    assert isinstance(result, Result)
    return result


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 50_000, id="ascii"),
        pytest.param("\U0001f600" * 50_000, id="M107-four-byte-characters"),
        pytest.param('"\\\n' * 20_000, id="M107-characters-that-double-in-json"),
        pytest.param("", id="empty"),
    ],
)
def test_paging_gives_the_text_again_exactly(text: str) -> None:
    """M112, M113: the parts join to the text whose SHA-256 every part carries, each within 64,000 bytes."""
    document, parts, offset, digest = page(text), [], 0, None
    while offset is not None:
        part = read(document, maxChars=32_000, offset=offset, expectedHash=digest)
        assert (
            len(json.dumps(part.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode()) <= 64_000
        )
        assert len(part.content) <= 32_000
        assert part.truncated == (part.nextOffset is not None)
        parts.append(part.content)
        offset, digest = part.nextOffset, part.contentHash
    assert "".join(parts) == text
    assert digest == document.text_sha256()
    assert part.totalChars == len(text)


@pytest.mark.parametrize(
    ("characters", "next_offset"), [(999, None), (1_000, None), (1_001, 1_000)], ids=["under", "at", "over"]
)
def test_content_is_cut_at_max_chars(characters: int, next_offset: int | None) -> None:
    """M106"""
    assert read(page("x" * characters), maxChars=1_000).nextOffset == next_offset


def test_default_is_sixteen_thousand_characters() -> None:
    """M106"""
    assert len(read(page("x" * 16_001)).content) == 16_000


def test_other_text_is_changed_content_when_a_continuation_is_bound_to_a_hash() -> None:
    """M117"""
    first = read(page("x" * 2_000), maxChars=1_000)
    with pytest.raises(ChangedContent):
        read(page("y" * 2_000), maxChars=1_000, offset=1_000, expectedHash=first.contentHash)


@pytest.mark.parametrize(("offset", "fits"), [(4, True), (5, True), (6, False)], ids=["under", "at", "over"])
def test_offset_may_reach_the_end_and_not_pass_it(offset: int, *, fits: bool) -> None:
    """M108"""
    document = page("12345")
    if fits:
        assert read(document, offset=offset, expectedHash=document.text_sha256()).content == "12345"[offset:]
    else:
        with pytest.raises(InvalidArguments) as refused:
            read(document, offset=offset, expectedHash=document.text_sha256())
        assert refused.value.facts["field"] == "offset"


@pytest.mark.parametrize(("links", "shown"), [(19, 19), (20, 20), (21, 20)], ids=["under", "at", "over"])
def test_at_most_twenty_links_are_listed(links: int, shown: int) -> None:
    """M114"""
    document = page("x", links=tuple(Link(f"n{n}", f"https://l.example/{n}") for n in range(links)))
    assert len(read(document).links) == shown


def test_long_links_give_way_to_the_text() -> None:
    """M107: twenty URLs of 4,000 bytes would fill the reply."""
    links = tuple(Link("n", f"https://l.example/{n}" + "x" * 4_000) for n in range(20))
    result = read(page("t" * 32_000, links=links), maxChars=32_000)
    assert len(result.links) < 20
    assert result.content == "t" * 32_000


def test_result_says_where_when_and_under_what() -> None:
    """M110, M130, M161: origin, UTC time, notice, remaining budget and the published limits are in every result."""
    result = read(page("x", source_truncated=True))
    assert (result.url, result.finalUrl, result.retrievedAt) == (PLACE.href, PLACE.href, "2026-11-30T12:00:00Z")
    assert (result.budget.step, result.budget.run) == (39, 199)
    assert result.sourceTruncated is True
    assert "Untrusted" in result.notice
    assert result.limits["wireBytes"] == 2_000_000
