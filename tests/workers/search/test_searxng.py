"""SearXNG's answers, recorded from a running server, and the address that a deployment may give."""

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from schemas.errors import OutriderError, SourceBlocked, SourceChanged, SourceUnavailable
from workers.search.provider import Wanted
from workers.search.searxng import QUERY_CHARS, EndpointUnfit, read_answer, searxng_at

RECORDED = Path(__file__).parents[2] / "data" / "search"
HERE = searxng_at("https://searx.example")


def recorded(name: str) -> bytes:
    return (RECORDED / f"searxng_{name}.json").read_bytes()


def test_recorded_results_are_read() -> None:
    hits = read_answer(recorded("results"), "application/json")
    assert len(hits) == 12
    assert (hits[0].title, hits[0].link, hits[0].snippet) == ("hello 0", "https://docs.example/0", "About hello")


def test_recorded_answer_without_results_is_an_empty_list_where_every_engine_answered() -> None:
    """M98"""
    assert read_answer(recorded("nothing"), "application/json") == ()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(recorded("turned_away"), SourceBlocked, id="X13-an-engine-turned-away"),
        pytest.param(recorded("crashed"), SourceUnavailable, id="X13-engines-crashed"),
        pytest.param(b"", SourceChanged, id="X13-nothing"),
        pytest.param(b"<html>a page</html>", SourceChanged, id="X13-a-page"),
        pytest.param(b"[]", SourceChanged, id="X13-a-list"),
        pytest.param(b"{}", SourceChanged, id="X13-no-results-field"),
        pytest.param(b'{"results": {}}', SourceChanged, id="X13-results-no-list"),
        pytest.param(b'{"results": [{"link": "https://a.example/"}, 7]}', SourceChanged, id="X13-renamed-fields"),
        pytest.param(b"[" * 100_000, SourceChanged, id="X13-nested"),
        pytest.param(b'{"results": [], "unresponsive_engines": [["a", "CAPTCHA"]]}', SourceBlocked, id="X13-captcha"),
        pytest.param(
            b'{"results": [], "unresponsive_engines": [["a", "Suspended: timeout"]]}', SourceUnavailable, id="X13-away"
        ),
    ],
)
def test_answer_that_is_no_list_of_results_says_which(body: bytes, kind: type[OutriderError]) -> None:
    with pytest.raises(kind):
        read_answer(body, "application/json")


def test_odd_entries_are_left_out_and_odd_texts_are_empty() -> None:
    answer = {"results": [{"url": "https://a.example/\ud800", "title": None, "content": ["x"]}, {"url": 7}, None]}
    (hit,) = read_answer(json.dumps(answer).encode(), "")
    assert (hit.title, hit.link, hit.snippet) == ("", "https://a.example/", "")


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://searx.example", "https://searx.example/search"),
        ("https://searx.example/", "https://searx.example/search"),
        ("https://SEARX.example:443/search", "https://searx.example/search"),
        ("https://tools.example/searx/", "https://tools.example/searx/search"),
    ],
)
def test_endpoint_is_made_of_the_deployment_s_address(url: str, endpoint: str) -> None:
    assert searxng_at(url).endpoint.href == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "http://searx.example/",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://searx/",
        "https://searx.internal/",
        "https://searx.example:8443/",
        "https://me:secret@searx.example/",
        "https://searx.example/?key=secret",
        "https://searx.example/#part",
        "searx.example",
    ],
)
def test_address_that_is_not_a_public_https_one_is_refused(url: str) -> None:
    """Decision 0010: no hole in the guard, also not for a deployment's own server."""
    with pytest.raises(EndpointUnfit) as unfit:
        searxng_at(url)
    assert "secret" not in str(unfit.value)


@pytest.mark.parametrize(
    ("region", "language"),
    [("us-en", "en-US"), ("vn-vi", "vi-VN"), ("wt-wt", "all"), (None, "all"), ("hk-tzh", "tzh-HK")],
)
def test_region_is_put_in_the_server_s_words(region: str | None, language: str) -> None:
    """M89"""
    fields = parse_qs(HERE.ask(Wanted(words="x", region=region)).body.decode())
    assert fields["language"] == [language]


def test_longest_arguments_fit() -> None:
    """1,000 characters and the longest site."""
    site = ".".join(["a" * 63] * 3 + ["b" * 61])
    assert len(site) == 253
    assert HERE.ask(Wanted(words="x" * 1_000, site=site)).body
    assert 1_000 + len(f" site:{site}") <= QUERY_CHARS
