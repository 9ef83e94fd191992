"""A deployment that chose SearXNG, in an environment that names a proxy: one server is asked, and nobody else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from tests.fleet import Fleet, running_fleet

HOST = "searx.example"
DUCKDUCKGO = "html.duckduckgo.com"
RECORDED = Path(__file__).parents[1] / "data" / "search"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(scope="module")
def searx_fleet(whole_lab: LabControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet of its own; the proxy is a canary's perch, which counts whoever comes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUTRIDER_SEARCH_PROVIDER", "searxng")
        patch.setenv("OUTRIDER_SEARXNG_URL", f"https://{HOST}/")
        for name in PROXIES:
            patch.setenv(name, "http://10.0.0.1:80")
        with running_fleet(tmp_path_factory.mktemp("searx")) as running:
            yield running


def serve(lab: LabControl, name: str, **more: Any) -> None:
    body = (RECORDED / f"searxng_{name}.json").read_text(encoding="utf-8")
    lab.site(HOST, **({"site": "page", "type": "application/json", "body": body} | more))


def test_recorded_answer_is_searched_without_a_proxy(searx_fleet: Fleet, lab: LabControl) -> None:
    """M97, M103: HTTP_PROXY and its kin are not looked at; DuckDuckGo is not asked."""
    serve(lab, "results")
    envelope = searx_fleet.search("hello")
    assert envelope["outcome"] == "completed", envelope
    value = envelope["value"]
    assert (value["provider"], len(value["results"]), value["truncated"]) == ("searxng", 10, False)
    assert value["results"][0] == {"title": "hello 0", "url": "https://docs.example/0", "snippet": "About hello"}
    stored = read_receipt(searx_fleet.ledger, envelope["receipt"]["id"])
    assert stored is not None
    (hop,) = json.loads(stored.body)["hops"]
    assert (hop["origin"], hop["method"]) == (f"https://{HOST}", "POST")
    assert lab.hits() == {f"{HOST}/search": 1}
    assert {query["name"].rstrip(".") for query in lab.queries()} == {HOST}


@pytest.mark.parametrize(
    ("name", "entry", "code"),
    [
        pytest.param("nothing", {}, None, id="M98-nothing"),
        pytest.param("turned_away", {}, "source_blocked", id="X13-engines-turned-away"),
        pytest.param("crashed", {}, "source_unavailable", id="X13-engines-crashed"),
        pytest.param("results", {"status": 403}, "source_blocked", id="X13-json-not-enabled"),
        pytest.param("results", {"status": 429}, "rate_limited", id="M155-429"),
        pytest.param("results", {"status": 502}, "source_unavailable", id="M155-502"),
        pytest.param("results", {"status": 404}, "source_changed", id="X13-404"),
        pytest.param(
            "results", {"site": "redirect", "status": 302, "to": f"https://{DUCKDUCKGO}/"}, "redirect_blocked", id="M99"
        ),
        pytest.param("results", {"body": "<html>hello</html>", "type": "text/html"}, "source_changed", id="X13-page"),
        pytest.param("results", {"site": "bomb", "mebibytes": 64}, "response_too_large", id="M101-bomb"),
        pytest.param("results", {"site": "truncated"}, "truncated_body", id="X6-truncated"),
    ],
)
def test_answer_is_one_request_and_one_typed_outcome(
    searx_fleet: Fleet, lab: LabControl, name: str, entry: dict[str, Any], code: str | None
) -> None:
    """M97, X13: the same claims as of DuckDuckGo; no other provider stands in."""
    serve(lab, name, **entry)
    envelope = searx_fleet.search("hello")
    assert (envelope["error"] or {}).get("code") == code
    if code is None:
        assert envelope["value"]["results"] == []
    assert sum(lab.hits().values()) == 1
    assert {query["name"].rstrip(".") for query in lab.queries()} == {HOST}


def test_site_is_enforced_and_commands_are_words(searx_fleet: Fleet, lab: LabControl) -> None:
    """M87, M99"""
    serve(lab, "results")
    assert searx_fleet.search("!!g hello", site="postgresql.org")["value"]["results"] == []
    assert len(searx_fleet.search("!lo hello", site="docs.example", maxResults=4)["value"]["results"]) == 4


def test_server_that_dns_leads_inside_is_refused(searx_fleet: Fleet, lab: LabControl) -> None:
    """Decision 0010: the deployment's own server is behind the same guard."""
    serve(lab, "results")
    lab.dns(HOST, A=["192.168.0.1"])
    envelope = searx_fleet.search("hello")
    assert (envelope["error"]["code"], envelope["receipt"]["sent"]) == ("blocked_address", "not_sent")
