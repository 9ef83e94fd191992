"""The run's searches: three queries, five hits, each asked once and answered from its receipt ever after."""

import json
from typing import Any

import pytest

from ops.lab.control import LabControl
from ops.lab.engine import CHALLENGE, NO_RESULTS, block
from ops.lab.http import message
from tests.fleet import Fleet
from tests.truth_calls import ENGINE, Worker, code_of, find, launched, page, value_of


@pytest.fixture
def worker(fleet: Fleet, lab: LabControl) -> Worker:
    """A running run; the engine finds two links."""
    find(lab, "https://text.example/", "https://docs.example/")
    return launched(fleet)


def asked(lab: LabControl) -> int:
    """How often the engine was asked."""
    return sum(lab.hits(ENGINE).values())


def test_query_is_asked_once_whatever_its_white_space(worker: Worker, lab: LabControl) -> None:
    """M32, M35, M36: the same words are the same search: same receipt, same hit ids, no egress."""
    first = worker.call("search", query="moon basalt")
    again = [worker.call("search", query=query) for query in ("  moon\tbasalt ", "moon\n basalt", "moon basalt")]
    assert (first["replayed"], [one["replayed"] for one in again]) == (False, [True] * 3)
    assert {json.dumps(one["value"]) for one in again} == {json.dumps(first["value"])}
    assert {one["receipt"]["digest"] for one in again} == {first["receipt"]["digest"]}
    assert asked(lab) == 1


def test_fourth_query_is_refused_and_earlier_ones_still_answer(worker: Worker, lab: LabControl) -> None:
    """M33: other letters are another query."""
    for query in ("moon", "Moon", "basalt"):
        worker.hits(query)
    fourth = worker.call("search", query="cheese")
    assert (fourth["outcome"], code_of(fourth), fourth["error"]["facts"]) == (
        "refused",
        "search_limit_reached",
        {"limit": 3},
    )
    assert worker.call("search", query="moon")["replayed"]
    assert asked(lab) == 3


def test_five_hits_are_admitted_of_those_that_could_be_fetched(worker: Worker, lab: LabControl) -> None:
    """M34, M37, M38: unsafe, untitled, repeated and paid results are dropped before; all are leads alone."""
    links = [f"https://docs.example/{number}" for number in range(8)]
    unfit = [
        block("Loopback", "http://127.0.0.1/"),
        block("Local", "https://printer.local/"),
        block("Port", "https://docs.example:8443/"),
        block("Secret", "https://docs.example/?token=x"),
        block("Credentials", "https://u:p@docs.example/"),
        block("File", "ftp://docs.example/"),
        block("  ", "https://untitled.example/"),
        block("An advertisement", "https://duckduckgo.com/y.js?ad=1", kind="result--ad"),
    ]
    good = [block(f"Page {link}", link) for link in links]
    page(lab, [*unfit, good[0], good[0], *good[1:]])
    value = value_of(worker.call("search", query="moon"))
    assert [hit["url"] for hit in value["hits"]] == links[:5]
    assert [hit["position"] for hit in value["hits"]] == [1, 2, 3, 4, 5]
    assert {hit["lead_only"] for hit in value["hits"]} == {True}
    assert len({hit["hit_id"] for hit in value["hits"]}) == 5


def test_title_and_snippet_are_bounded(worker: Worker, lab: LabControl) -> None:
    """M34"""
    page(lab, [block("t" * 700, "https://docs.example/", "s" * 3_000)])
    [hit] = worker.hits()
    assert (len(hit["title"]), len(hit["snippet"])) == (500, 2_000)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param("é" * 499, None, id="under"),
        pytest.param("x" * 500, "query_too_long_for_provider", id="at-and-over-what-this-provider-takes"),
        pytest.param(" ".join("x" * 249) + " !x", None, id="500-as-sent-and-499-without-the-command"),
        pytest.param("x" * 501, "invalid_arguments", id="over"),
        pytest.param("", "invalid_arguments", id="empty"),
        pytest.param(" \n ", "invalid_arguments", id="white-space"),
        pytest.param("!!", "invalid_arguments", id="no-words"),
        pytest.param("moon\u200bbasalt", "invalid_arguments", id="formatting-character"),
        pytest.param("moon\x00", "invalid_arguments", id="control-character"),
    ],
)
def test_query_is_bounded(worker: Worker, lab: LabControl, query: str, code: str | None) -> None:
    """M32: what is refused costs nothing."""
    envelope = worker.call("search", query=query)
    assert (envelope["error"] or {}).get("code") == code
    assert asked(lab) == (0 if code else 1)


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        pytest.param(message(403, {"Content-Type": "text/html"}, CHALLENGE.encode()), "source_blocked", id="challenge"),
        pytest.param(message(500, {}, b""), "source_unavailable", id="500"),
        pytest.param(message(429, {}, b""), "rate_limited", id="429"),
    ],
)
def test_failed_search_is_stored_counted_and_answered_again(
    worker: Worker, lab: LabControl, wire: bytes, code: str
) -> None:
    """M36, M66, M23: the failure is the receipt of that query; the web's coverage says failed, then partial."""
    lab.wire(ENGINE, wire)
    first, again = (worker.call("search", query="moon") for _ in range(2))
    assert (first["outcome"], code_of(first)) == ("failed", code)
    assert (again["outcome"], code_of(again), again["replayed"]) == ("failed", code, True)
    assert first["receipt"] == again["receipt"]
    assert web_status(worker.get()) == "failed"
    find(lab, "https://text.example/")
    worker.hits("basalt")
    assert web_status(worker.get()) == "partial"
    worker.hits("third")
    assert code_of(worker.call("search", query="fourth")) == "search_limit_reached"


def test_search_that_finds_nothing_is_a_completed_one(worker: Worker, lab: LabControl) -> None:
    """M23, M34"""
    page(lab, [NO_RESULTS])
    assert worker.hits("nothing at all") == []
    assert web_status(worker.get()) == "searched"


def web_status(context: dict[str, Any]) -> str:
    """The coverage of the web."""
    return next(entry["status"] for entry in context["source_coverage"] if entry["source"] == "web")
