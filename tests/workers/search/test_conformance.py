"""The seam's claims, held against each provider: the same question, the same outcomes, whoever is asked."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs

import pytest

from ops.lab.engine import CHALLENGE, NO_RESULTS, block, results_page
from schemas.deadline import Deadline
from schemas.errors import QueryTooLong, SourceBlocked, SourceChanged
from schemas.limits import Limits
from schemas.profiles import WEB_SEARCH
from workers.extract.pool import ExtractionPool
from workers.net.curl_options import check
from workers.net.judge import judge_place
from workers.search.duckduckgo import DUCKDUCKGO
from workers.search.provider import Hit, Provider, Wanted
from workers.search.searxng import searxng_at

LIMITS: Limits = WEB_SEARCH.limits
LINKS = ("https://good.example/", "https://docs.example/a?b=c#d")


@dataclass(frozen=True)
class Case:
    """A provider with its own pages for the outcomes that each must tell apart."""

    provider: Provider
    kind: str
    found: bytes
    nothing: bytes
    blocked: bytes
    changed: bytes


def answer(links: tuple[str, ...], unresponsive: list[list[str]]) -> bytes:
    results = [{"url": link, "title": f"T {link}", "content": f"S {link}"} for link in links]
    return json.dumps({"query": "q", "results": results, "unresponsive_engines": unresponsive}).encode()


CASES = {
    "duckduckgo": Case(
        DUCKDUCKGO,
        "text/html; charset=utf-8",
        results_page([block(f"T {link}", link, f"S {link}") for link in LINKS]).encode(),
        results_page([NO_RESULTS]).encode(),
        CHALLENGE.encode(),
        results_page([block("T", LINKS[0])]).replace("result", "hit").encode(),
    ),
    "searxng": Case(
        searxng_at("https://searx.example/"),
        "application/json",
        answer(LINKS, []),
        answer((), []),
        answer((), [["google", "CAPTCHA"]]),
        b'{"items": []}',
    ),
}


@pytest.fixture(params=CASES, name="case")
def case_of(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    made = ExtractionPool(1)
    yield made
    made.close()


def fields(case: Case, **wanted: str) -> dict[str, list[str]]:
    ask = case.provider.ask(Wanted(**{"words": "some words"} | wanted))
    return parse_qs(ask.body.decode(), keep_blank_values=True, strict_parsing=True)


def test_name_is_the_setting_s_word() -> None:
    assert {name: case.provider.name for name, case in CASES.items()} == {name: name for name in CASES}


def test_endpoint_passes_the_guard_over_https(case: Case) -> None:
    judge_place(case.provider.endpoint, LIMITS)
    assert (case.provider.endpoint.scheme, case.provider.endpoint.port) == ("https", 443)


def test_question_is_a_form_that_the_profile_and_the_transport_take(case: Case) -> None:
    """M103: no URL holds the query, no header says who asks."""
    ask = case.provider.ask(Wanted(words="some words"))
    check(ask)
    assert ask.method in LIMITS.methods
    assert {name for name, _ in ask.headers} == {"Accept", "Content-Type"}
    assert case.provider.endpoint.query() == ""


def test_question_says_what_is_wanted(case: Case) -> None:
    """M86, M88, M89: words and site in `q`; each hint changes the form, and its absence leaves it out."""
    plain = fields(case)
    assert plain["q"] == ["some words"]
    assert fields(case, site="postgresql.org")["q"] == ["some words site:postgresql.org"]
    ranges = [fields(case, time_range=word) for word in "dwmy"]
    assert len({str(one) for one in [plain, *ranges]}) == 5
    assert fields(case, region="vn-vi") != plain
    assert fields(case, region="wt-wt") == plain


def test_words_stay_one_field_whatever_they_hold(case: Case) -> None:
    words = "a&b=c;d #e %26 +f \u00e4\U0001f98a \"g\" 'h'"
    assert fields(case, words=words) == {**fields(case), "q": [words]}


def test_query_over_the_provider_s_own_limit_is_refused(case: Case) -> None:
    longest = case.provider.query_chars
    assert case.provider.ask(Wanted(words="x" * longest)).body
    with pytest.raises(QueryTooLong) as refused:
        case.provider.ask(Wanted(words="x" * (longest + 1)))
    assert refused.value.facts == {"limit": longest, "characters": longest + 1}


def test_results_are_read_in_order(case: Case) -> None:
    hits = case.provider.read(case.found, case.kind)
    assert [(hit.title, hit.link, hit.snippet) for hit in hits] == [(f"T {one}", one, f"S {one}") for one in LINKS]


def test_nothing_found_is_an_empty_list(case: Case) -> None:
    """M98"""
    assert case.provider.read(case.nothing, case.kind) == ()


def test_turned_away_and_changed_are_told_apart_and_never_an_empty_list(case: Case) -> None:
    """X13"""
    with pytest.raises(SourceBlocked) as blocked:
        case.provider.read(case.blocked, case.kind)
    with pytest.raises(SourceChanged) as changed:
        case.provider.read(case.changed, case.kind)
    assert blocked.value.facts["provider"] == changed.value.facts["provider"] == case.provider.name


def test_reader_works_in_a_process_of_its_own(case: Case, pool: ExtractionPool) -> None:
    """It crosses by its name; its hits and its own errors come back whole."""

    def read(body: bytes) -> tuple[Hit, ...]:
        return pool.run(case.provider.read, (body, case.kind), Deadline.after(60))

    assert read(case.found) == case.provider.read(case.found, case.kind)
    assert read(case.nothing) == ()
    with pytest.raises(SourceBlocked) as blocked:
        read(case.blocked)
    assert blocked.value.facts["provider"] == case.provider.name


@pytest.mark.parametrize("size", [0, 1, 7, 40, 200, 1_000])
def test_cut_answer_is_never_an_empty_list(case: Case, size: int) -> None:
    """X13: whatever is left of an answer with results either has results or is an error."""
    found: object = None
    try:
        found = case.provider.read(case.found[:size], case.kind)
    except (SourceBlocked, SourceChanged) as error:
        found = error
    assert found
