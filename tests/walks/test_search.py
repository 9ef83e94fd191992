"""web_search from the message to the receipt: what each kind of answer of the provider gives, in one request."""

import json
from dataclasses import replace
from typing import Any

import pytest

from broker import intake
from broker.ledger.projects import read_project, save_project
from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from ops.lab.engine import BANG_TARGET, CHALLENGE, NO_RESULTS, block, results_page
from tests.fleet import Fleet, wait_until
from tests.search_arguments import ROWS

HOST = "html.duckduckgo.com"
FOUND = results_page([block(f"Title {number}", f"https://good.example/{number}", "Words.") for number in range(3)])
NOTHING = results_page([NO_RESULTS])
CHANGED = FOUND.replace("result", "hit")
PADDING = len("<!---->")


def says(body: str, **more: Any) -> dict[str, Any]:
    return {"site": "page", "body": body, "type": "text/html; charset=UTF-8"} | more


def padded(wanted_bytes: int) -> str:
    """The page of results, grown to so many bytes by a comment."""
    return FOUND.replace("</body>", f"<!--{'x' * (wanted_bytes - len(FOUND) - PADDING)}--></body>")


def zipped(page: str) -> dict[str, Any]:
    """The page, packed whatever was asked for."""
    return {"site": "page", "type": "text/html", "gzip": True, "body": page}


def hops_of(fleet: Fleet, envelope: dict[str, Any]) -> list[dict[str, Any]]:
    stored = read_receipt(fleet.ledger, envelope["receipt"]["id"])
    assert stored is not None
    return json.loads(stored.body)["hops"]


def seen_by_the_engine(envelope: dict[str, Any]) -> dict[str, Any]:
    """The request as the lab's engine got it: it tells so in its first snippet."""
    return json.loads(envelope["value"]["results"][0]["snippet"])


def test_search_gives_results_and_its_receipt_says_from_where(fleet: Fleet, lab: LabControl) -> None:
    """M91-M97, M103, M156, X13: ten results without key or service; one form, no cookie, no word of who asks."""
    envelope = fleet.search("transaction isolation")
    assert (envelope["outcome"], envelope["tool"], envelope["error"]) == ("completed", "web_search", None)
    value = envelope["value"]
    assert (value["provider"], value["query"], value["truncated"]) == ("duckduckgo", "transaction isolation", False)
    assert value["budget"] == {"step": 19, "run": 99}
    assert len(value["results"]) == 10
    assert not [one for one in value["results"] if "duckduckgo.com" in one["url"]]
    seen = seen_by_the_engine(envelope)
    assert (seen["method"], seen["target"]) == ("POST", "/html/")
    assert seen["form"] == {"q": "transaction isolation", "b": "", "kl": "wt-wt"}
    names = {name for name, _ in seen["headers"]}
    assert names == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Content-Type", "Content-Length"}
    assert dict(seen["headers"])["User-Agent"].startswith("Outrider/")
    (hop,) = hops_of(fleet, envelope)
    assert (hop["origin"], hop["method"], hop["status"], hop["sent"]) == (f"https://{HOST}", "POST", 200, "sent")
    assert lab.hits() == {f"{HOST}/html/": 1}
    assert {query["name"].rstrip(".") for query in lab.queries()} == {HOST}


def test_hints_are_passed_on(fleet: Fleet, lab: LabControl) -> None:
    """M85-M89: as fields of the form; the count is ours."""
    envelope = fleet.search("x", maxResults=3, timeRange="y", region="vn-vi")
    assert len(envelope["value"]["results"]) == 3
    form = seen_by_the_engine(envelope)["form"]
    assert (form["df"], form["kl"]) == ("y", "vn-vi")
    site = fleet.search("x", site="docs.example")["value"]["results"]
    assert len(site) == 9
    assert {one["url"].split("/")[2] for one in site} == {"docs.example"}


OUTCOMES = {
    "X13-results": (says(FOUND), None),
    "M98-no-results": (says(NOTHING), None),
    "X13-challenge-200": (says(CHALLENGE), "source_blocked"),
    "M98-challenge-202": (says(CHALLENGE, status=202), "source_blocked"),
    "X13-challenge-403": (says(CHALLENGE, status=403), "source_blocked"),
    "X13-202-with-results": (says(FOUND, status=202), "source_blocked"),
    "M98-changed": (says(CHANGED), "source_changed"),
    "X13-empty": (says(""), "source_blocked"),
    "X13-portal": (says("<html><h1>Pay for your network</h1></html>"), "source_blocked"),
    "X13-pdf": (says("%PDF-1.7"), "source_blocked"),
    "X13-404": (says("", status=404), "source_changed"),
    "M155-500": (says("", status=500), "source_unavailable"),
    "M155-503": (says("", status=503), "source_unavailable"),
    "M155-429": (says(CHALLENGE, status=429, headers={"Retry-After": "60"}), "rate_limited"),
    "M155-503-with-a-wait": (says("", status=503, headers={"Retry-After": "60"}), "rate_limited"),
    "M99-303": ({"site": "redirect", "status": 303, "to": BANG_TARGET}, "redirect_blocked"),
    "M99-302-to-itself": ({"site": "redirect", "to": f"https://{HOST}/html/"}, "redirect_blocked"),
    "M99-301-down": ({"site": "redirect", "status": 301, "to": f"http://{HOST}/html/"}, "redirect_blocked"),
    "M99-no-target": ({"site": "redirect", "missing": True}, "redirect_blocked"),
    "M101-bomb": ({"site": "bomb", "mebibytes": 64}, "response_too_large"),
    "M101-at-the-limit": (says(padded(1_000_000)), None),
    "M101-wire-over": (says(padded(1_000_001)), "response_too_large"),
    "M101-decoded-at": (zipped(padded(1_000_000)), None),
    "M101-decoded-over": (zipped(padded(1_000_001)), "response_too_large"),
    "X6-truncated": ({"site": "truncated"}, "truncated_body"),
    "X6-reset": ({"site": "reset"}, "truncated_body"),
    "M126-endless-headers": ({"site": "endless_headers"}, "headers_too_large"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_answer_is_one_request_and_one_typed_outcome(fleet: Fleet, lab: LabControl, name: str) -> None:
    """M97, M98, M155, X13: never a second request, never a Location asked for, an empty list only where it is said."""
    entry, code = OUTCOMES[name]
    lab.site(HOST, **entry)
    envelope = fleet.search("words")
    assert (envelope["error"] or {}).get("code") == code
    assert envelope["outcome"] == ("failed" if code else "completed")
    if code is None:
        assert len(envelope["value"]["results"]) == (0 if name == "M98-no-results" else 3)
    assert envelope["receipt"]["sent"] == "sent"
    assert len(hops_of(fleet, envelope)) == 1
    assert sum(lab.hits().values()) == 1
    assert lab.requests() == []
    assert {query["name"].rstrip(".") for query in lab.queries()} == {HOST}


@pytest.mark.parametrize(
    ("records", "entry", "code"),
    [
        pytest.param({"A": ["10.0.0.1"]}, {}, "blocked_address", id="M155-private"),
        pytest.param({"A": ["93.184.215.14", "127.0.0.1"]}, {}, "blocked_address", id="M49-mixed"),
        pytest.param({"A": {"rcode": "SERVFAIL"}}, {}, "dns_failure", id="M155-dns"),
        pytest.param({}, {"certificate": "expired"}, "tls_error", id="M129-expired"),
        pytest.param({}, {"certificate": "unknown_ca"}, "tls_error", id="M129-unknown"),
    ],
)
def test_provider_is_behind_the_same_guard(
    fleet: Fleet, lab: LabControl, records: dict[str, Any], entry: dict[str, Any], code: str
) -> None:
    """M100-M103: its name is judged and pinned as any other; nothing is sent."""
    lab.site(HOST, **says(FOUND), **entry)
    if records:
        lab.dns(HOST, **records)
    envelope = fleet.search("words")
    assert (envelope["outcome"], envelope["error"]["code"]) == ("failed", code)
    assert envelope["receipt"]["sent"] == "not_sent"
    assert sum(lab.hits().values()) == 0


def test_dripping_provider_ends_at_the_deadline(fleet: Fleet, lab: LabControl) -> None:
    """M100: the deadline holds for the body too."""
    lab.site(HOST, site="drip")
    envelope = fleet.search("words")
    assert (envelope["outcome"], envelope["error"]["code"]) == ("failed", "request_timeout")
    assert sum(lab.hits().values()) == 1


@pytest.mark.parametrize("query", ["!g words", "words !w", "w! words", "\\words", "\uff01g words", "!! words"])
def test_command_is_searched_as_words(fleet: Fleet, lab: LabControl, query: str) -> None:
    """M99, M103: the lab's engine answers a command with 303, as the real one; none reaches it."""
    envelope = fleet.search(query)
    assert envelope["outcome"] == "completed"
    assert envelope["value"]["query"] == query
    assert "words" in seen_by_the_engine(envelope)["form"]["q"]
    assert lab.requests() == []


@pytest.mark.parametrize("name", ROWS)
def test_argument_is_taken_or_refused_by_its_field(fleet: Fleet, lab: LabControl, name: str) -> None:
    """M83-M90, M148: a refusal names the field, reserves nothing and asks nobody."""
    arguments, field = ROWS[name]
    envelope = fleet.reply(intake.submit("web_search", arguments, fleet.context(project=fleet.project())))
    if field is None:
        code = "query_too_long_for_provider" if len(arguments["query"].strip()) > 499 else None
        assert (envelope["error"] or {}).get("code") == code
        return
    assert (envelope["outcome"], envelope["error"]["code"]) == ("refused", "invalid_arguments")
    assert envelope["error"]["facts"]["field"] == f"arguments.{field}"
    assert (envelope["operation"], lab.queries()) == (None, [])


@pytest.mark.parametrize(
    ("query", "site", "code"),
    [
        ("x" * 498, None, None),
        ("x" * 499, None, None),
        ("x" * 500, None, "query_too_long_for_provider"),
        ("x" * 481, "docs.example", None),
        ("x" * 482, "docs.example", "query_too_long_for_provider"),
        ("!? \\", None, None),
        ("!! \\", None, "invalid_arguments"),
    ],
    ids=["under", "at", "over", "at-with-site", "over-with-site", "a-word-is-left", "no-word-is-left"],
)
def test_query_that_the_provider_does_not_take_costs_nothing(
    fleet: Fleet, lab: LabControl, query: str, site: str | None, code: str | None
) -> None:
    """M148: refused before anything is reserved; the next search of the step has its whole budget."""
    context = fleet.context(project=fleet.project())
    envelope = fleet.search(query, context=context, **({"site": site} if site else {}))
    assert (envelope["error"] or {}).get("code") == code
    if code is not None:
        assert (envelope["outcome"], envelope["operation"], lab.queries()) == ("refused", None, [])
        assert fleet.search("words", context=context)["value"]["budget"] == {"step": 19, "run": 99}


def test_reply_of_huge_snippets_is_cut(fleet: Fleet, lab: LabControl) -> None:
    """M102, issue 4: ten of them in 64,000 bytes of valid JSON, `truncated` true."""
    blocks = [block(f"Title {n}", f"https://good.example/{n}", "\u00e9 word " * 10_000) for n in range(10)]
    lab.site(HOST, **says(results_page(blocks), gzip=True))
    value = fleet.search("words")["value"]
    assert value["truncated"] is True
    assert len(value["results"]) == 10
    assert len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) <= 64_000


def test_cookie_of_the_provider_is_not_brought_back(fleet: Fleet, lab: LabControl) -> None:
    """M103"""
    lab.site(HOST, **says(FOUND, headers={"Set-Cookie": "kl=us-en; Path=/"}))
    assert fleet.search("words")["outcome"] == "completed"
    lab.reset()
    assert "Cookie" not in {name for name, _ in seen_by_the_engine(fleet.search("words"))["headers"]}


@pytest.mark.parametrize(
    "switches",
    [
        pytest.param([False], id="M138-revoked"),
        pytest.param([False, True], id="M139-off-and-on-again-before-it-ends"),
        pytest.param([True], id="M139-saved-unchanged"),
    ],
)
def test_settings_saved_during_a_search_withhold_its_results(
    fleet: Fleet, lab: LabControl, switches: list[bool]
) -> None:
    """M138, M139, issue 4: any save will do; the search had come in full, and the next goes by what holds then."""
    lab.site(HOST, site="wire", replies=[{"body": FOUND, "delay_ms": 4_000}, {"body": FOUND}])
    context = fleet.context(project=fleet.project())
    handle = intake.submit("web_search", {"query": "words"}, context)
    wait_until(lab.hits, seconds=30, what="the request at the provider")
    for enabled in switches:
        save_project(fleet.ledger, replace(read_project(fleet.ledger, context["project"]), enabled=enabled), actor="t")
    envelope = fleet.reply(handle)
    assert (envelope["outcome"], envelope["error"]["code"], envelope["value"]) == ("failed", "settings_changed", None)
    assert envelope["receipt"]["sent"] == "sent"
    after = fleet.search("words", context=context)
    if switches[-1]:
        assert after["value"]["budget"] == {"step": 18, "run": 98}
    else:
        assert (after["outcome"], after["error"]["code"]) == ("refused", "capability_disabled")


def test_repeated_search_answers_from_the_ledger_and_sends_nothing(fleet: Fleet, lab: LabControl) -> None:
    """M97, M151, X1: the same call is one request."""
    context = fleet.context(project=fleet.project(), call="c-1")
    first, second = (fleet.search("words", context=context) for _ in range(2))
    assert (first["outcome"], second["error"]["code"]) == ("completed", "reply_not_kept")
    assert second["receipt"] == first["receipt"]
    assert sum(lab.hits().values()) == 1
