"""web_search's handler: what is planned before admission, and the reply within its bytes."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from ops.lab.engine import block, results_page
from schemas.deadline import Deadline
from schemas.errors import InvalidArguments, QueryTooLong
from schemas.operation import BudgetLeft
from schemas.profiles import WEB_SEARCH
from schemas.reply import Ask, Reply
from schemas.tools.web_search import Args, Result
from workers.bench import Bench, Rules
from workers.search.duckduckgo import DUCKDUCKGO
from workers.tools.web_search import TITLE_CHARS, web_search

RULES = Rules(limits=WEB_SEARCH.limits, provider=DUCKDUCKGO)


def search(blocks: Iterable[str], query: str = "words", **arguments: object) -> tuple[Result, list[Ask]]:
    """The result of a page, and what was asked for it."""
    asked: list[Ask] = []

    def ride(place: object, ask: Ask) -> Reply:
        assert place == DUCKDUCKGO.endpoint
        asked.append(ask)
        body = results_page(list(blocks)).encode()
        return Reply(
            place=DUCKDUCKGO.endpoint,
            status=200,
            http_version="1.1",
            headers=(),
            content_type="text/html",
            body=body,
            completeness="complete",
            wire_bytes=len(body),
            retrieved_at=datetime(2026, 11, 30, tzinfo=UTC),
        )

    bench = Bench(
        limits=WEB_SEARCH.limits,
        deadline=Deadline.after(25),
        budget=BudgetLeft(19, 99),
        ride=ride,
        read=lambda _reply: pytest.fail("a search reads no document"),
        apart=lambda reader, reply: reader(reply.body, reply.content_type),
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
        progress=lambda _stage, _facts: None,
    )
    args = Args.model_validate({"query": query, **arguments})
    result = web_search.perform(args, web_search.prepare(args, RULES), bench)
    assert isinstance(result, Result)
    return result, asked


def size(result: Result) -> int:
    return len(json.dumps(result.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode())


def test_result_tells_everything_once() -> None:
    """M91: the query as it was asked, not as it left."""
    result, asked = search([block("T", "https://good.example/", "S")], "!g  words")
    assert len(asked) == 1
    assert result.model_dump(mode="json") == {
        "provider": "duckduckgo",
        "query": "!g  words",
        "retrievedAt": "2026-11-30T12:00:00Z",
        "results": [{"title": "T", "url": "https://good.example/", "snippet": "S"}],
        "truncated": False,
        "notice": result.notice,
        "budget": {"step": 19, "run": 99},
    }
    assert b"q=g+words&" in asked[0].body


@pytest.mark.parametrize(
    ("title", "path", "snippet"),
    [
        pytest.param("t", "", "word " * 18_000, id="M102-huge-snippets"),
        pytest.param("t", "", "\U0001f98a" * 20_000, id="M102-four-byte-characters"),
        pytest.param("t", "", '"' * 60_000, id="M102-characters-that-double-in-json"),
        pytest.param("\U0001f98a" * 400, "x" * 4_060, "\U0001f98a" * 10_000, id="M102-everything-at-its-longest"),
        pytest.param('"' * 400, "x" * 4_060, "s" * 10_000, id="M102-titles-that-double"),
    ],
)
def test_reply_stays_within_its_bytes(title: str, path: str, snippet: str) -> None:
    """M102: snippets are cut, no result and no URL is lost."""
    query = "\U0001f98a" * 499
    blocks = [block(title, f"https://good.example/{number}{path}", snippet) for number in range(10)]
    result, _ = search(blocks, query)
    assert result.truncated is True
    assert size(result) <= 64_000
    assert [one.url for one in result.results] == [f"https://good.example/{number}{path}" for number in range(10)]


@pytest.mark.parametrize("over", [-1, 0, 1], ids=["under", "at", "over"])
def test_reply_is_cut_from_its_first_byte_over(over: int) -> None:
    """M102: at 64,000 bytes all is there; one more, and one snippet is cut."""
    room = 64_000 - size(search([block("t", "https://good.example/", "")])[0])
    result, _ = search([block("t", "https://good.example/", "x" * (room + over))])
    assert size(result) <= 64_000
    assert (len(result.results[0].snippet), result.truncated) == (min(room, room + over), over > 0)


def test_short_snippets_are_whole_while_long_ones_are_cut() -> None:
    blocks = [block("t", "https://good.example/1", "short"), block("t", "https://good.example/2", "x" * 90_000)]
    result, _ = search(blocks)
    assert (result.results[0].snippet, result.truncated) == ("short", True)


@pytest.mark.parametrize("over", [0, 1])
def test_title_is_a_line(over: int) -> None:
    result, _ = search([block("t" * (TITLE_CHARS + over), "https://good.example/")])
    assert (len(result.results[0].title), result.truncated) == (TITLE_CHARS, over == 1)


def test_site_is_asked_for_and_enforced() -> None:
    """M87: a page may say what it likes."""
    links = ["https://a.postgresql.org/", "https://evilpostgresql.org/", "https://postgresql.org./x"]
    result, asked = search([block("t", link) for link in links], site="PostgreSQL.org.")
    assert [one.url for one in result.results] == [links[0], links[2]]
    assert b"site%3Apostgresql.org" in asked[0].body


def test_all_results_left_out_is_an_empty_list() -> None:
    """M95, M96: the page was a proper one."""
    result, _ = search([block("t", "http://10.0.0.1/")])
    assert (result.results, result.truncated) == ((), False)


@pytest.mark.parametrize("count", [1, 10])
def test_no_more_than_were_asked_for(count: int) -> None:
    """M85"""
    blocks = [block("t", f"https://good.example/{number}") for number in range(12)]
    assert len(search(blocks, maxResults=count)[0].results) == count


def test_plan_refuses_what_no_provider_can_be_asked() -> None:
    """M148: before anything is reserved."""
    with pytest.raises(InvalidArguments):
        web_search.prepare(Args(query="!! \\"), RULES)
    with pytest.raises(InvalidArguments):
        web_search.prepare(Args(query="x", site="printer.local"), RULES)
    with pytest.raises(QueryTooLong):
        web_search.prepare(Args(query="x" * 1_000), RULES)
