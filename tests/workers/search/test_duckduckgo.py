"""DuckDuckGo's pages: what is read of each shape that has been seen, and what is never taken for an empty list."""

import pytest

from ops.lab.engine import CHALLENGE, NO_RESULTS, block, results_page
from schemas.errors import QueryTooLong, SourceBlocked, SourceChanged
from workers.search.duckduckgo import DUCKDUCKGO, QUERY_CHARS, read_page
from workers.search.provider import Hit, Wanted

HTML = "text/html; charset=UTF-8"
GOOD = block("Good & true", "https://good.example/?a=1&b=2", "Words of <it>")
PAID = block("Buy", "https://paid.example/", kind="result--ad")


def read(page: str) -> list[Hit]:
    return list(read_page(page.encode(), HTML))


def test_result_is_read_with_title_link_and_snippet() -> None:
    assert read(results_page([GOOD])) == [Hit("Good & true", "https://good.example/?a=1&b=2", "Words of <it>")]


def test_redirect_link_is_opened_once() -> None:
    """M93: the target of `uddg`; a redirect link in a redirect link stays what it is."""
    inner = "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fgood.example%2F"
    page = results_page([block("a", "https://good.example/ä?x=1&y", through=True), block("b", inner, through=True)])
    assert [hit.link for hit in read(page)] == ["https://good.example/ä?x=1&y", inner]


@pytest.mark.parametrize("link", ["//duckduckgo.com/l/?rut=0", "//duckduckgo.com/l/?uddg=", "https://[", "//"])
def test_link_to_nowhere_has_none(link: str) -> None:
    assert [hit.link for hit in read(results_page([block("a", link)]))] == [""]


@pytest.mark.parametrize("kind", ["result--ad", "result--ad--small", "web-result result--ad"])
def test_paid_block_is_no_result(kind: str) -> None:
    """M93: by its block; by its host: test_sift."""
    assert read(results_page([block("Buy", "https://paid.example/", kind=kind), GOOD])) == read(results_page([GOOD]))


def test_instant_answer_is_no_result() -> None:
    assert all("instant" not in hit.link for hit in read(results_page([GOOD])))


@pytest.mark.parametrize("tag", ["a", "div", "span", "td"])
def test_snippet_is_read_whatever_element_it_is(tag: str) -> None:
    page = results_page([GOOD.replace('<a class="result__snippet"', f'<{tag} class="result__snippet"')])
    (hit,) = read(page)
    assert hit.snippet == "Words of <it>"


def test_text_is_one_line_without_what_no_reader_should_meet() -> None:
    page = results_page([block("A\x1b[31m\n title", "https://good.example/", "one\n\ttwo\x07")])
    assert (read(page)[0].title, read(page)[0].snippet) == ("A[31m title", "one two")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(results_page([NO_RESULTS]), id="M98-block"),
        pytest.param(results_page(['<span class="no-results">None.</span>']), id="M98-words"),
        pytest.param(results_page([PAID, NO_RESULTS]), id="M98-with-an-advertisement"),
    ],
)
def test_page_that_says_so_has_no_results(page: str) -> None:
    assert read(page) == []


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        pytest.param(CHALLENGE, "challenge", id="X13-challenge"),
        pytest.param(results_page([GOOD, '<div class="anomaly-modal__mask"></div>']), "challenge", id="X13-modal"),
        pytest.param(results_page([GOOD, '<form id="challenge-form">']), "challenge", id="X13-form"),
        pytest.param(results_page(['<script src="/anomaly.js"></script>']), "challenge", id="X13-script"),
        pytest.param("", "no_page", id="X13-empty"),
        pytest.param(" \n ", "no_page", id="X13-blank"),
        pytest.param("<!-- nothing -->", "no_page", id="X13-comment"),
        pytest.param("%PDF-1.7 x", "no_page", id="X13-pdf"),
        pytest.param("<html><body><h1>Log in to the hotel's network", "other_page", id="X13-portal"),
        pytest.param("Access denied", "other_page", id="X13-words"),
    ],
)
def test_page_that_turns_away_is_blocked(page: str, reason: str) -> None:
    """X13, M98: never an empty list."""
    with pytest.raises(SourceBlocked) as blocked:
        read(page)
    assert blocked.value.facts == {"provider": "duckduckgo", "reason": reason}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(results_page([GOOD]).replace("result__a", "hit__a"), id="X13-renamed-link"),
        pytest.param(results_page([GOOD]).replace("result", "hit"), id="X13-renamed-block"),
        pytest.param(results_page([]), id="X13-frame-alone"),
        pytest.param(results_page([PAID]), id="X13-advertisements-alone"),
        pytest.param(results_page([GOOD]).partition('<div class="result ')[0], id="X13-cut-before-the-first"),
        pytest.param(results_page([GOOD.replace("href=", "data-href=")]), id="X13-no-link"),
    ],
)
def test_search_page_of_another_shape_has_changed(page: str) -> None:
    """X13, M98: never an empty list."""
    with pytest.raises(SourceChanged) as changed:
        read(page)
    assert "good" not in str(changed.value.facts) + changed.value.message


def test_page_in_another_charset_is_read() -> None:
    page = results_page([block("Käse", "https://good.example/")]).replace("utf-8", "iso-8859-1").encode("latin-1")
    assert read_page(page, "text/html")[0].title == "Käse"


@pytest.mark.parametrize(
    ("characters", "site", "fits"),
    [(498, None, True), (499, None, True), (500, None, False), (480, "a.example", False), (484, "a.example", True)],
    ids=["under", "at", "over", "over-with-site", "at-with-site"],
)
def test_query_is_as_long_as_the_provider_takes(characters: int, site: str | None, *, fits: bool) -> None:
    """499 characters with what is added: ` site:a.example` is 15."""
    characters += 5 if site and not fits else 0
    wanted = Wanted(words="x" * characters, site=site)
    if fits:
        assert DUCKDUCKGO.ask(wanted).body
        return
    with pytest.raises(QueryTooLong) as refused:
        DUCKDUCKGO.ask(wanted)
    assert refused.value.facts == {"limit": QUERY_CHARS, "characters": 500}
