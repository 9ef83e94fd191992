"""The guard under attack, end to end: names that turn, addresses that are dead, requests that must not be repeated."""

from ipaddress import ip_address

import pytest

from ops.lab.control import LabControl
from tests.fleet import Fleet
from tests.walks.crowd import see

DEAD_FIRST, DEAD_SECOND = "93.184.215.151", "93.184.215.152"


def families(lab: LabControl, host: str) -> list[str]:
    """The questions that were asked about a host."""
    return sorted(query["type"] for query in lab.queries(host))


def test_name_that_turns_private_is_refused_at_the_next_call(fleet: Fleet, lab: LabControl) -> None:
    """M51, M129, X5: each call looks once, and goes only where that look led."""
    first = see(fleet, "https://rebind.example/")
    assert first.outcome == "completed"
    assert [(hop["addresses"], hop["peer"]) for hop in first.hops] == [(["93.184.215.130"], "93.184.215.130")]
    assert families(lab, "rebind.example") == ["A", "AAAA"]
    second = see(fleet, "https://rebind.example/")
    assert (second.outcome, second.code, second.facts) == ("failed", "blocked_address", {})
    assert second.hops[0]["verdicts"].keys() == {"10.0.0.1"}
    assert families(lab, "rebind.example") == ["A", "A", "AAAA", "AAAA"]
    assert sum(lab.hits("rebind.example").values()) == 1


def test_name_that_turns_private_between_two_hops_is_refused(fleet: Fleet, lab: LabControl) -> None:
    """M129: the second hop to the same host is judged by an answer of its own."""
    turns = [["93.184.215.153"], ["10.0.0.1"]]
    lab.site("turning.example", site="redirect", to="https://turning.example/again", A=turns)
    seen = see(fleet, "https://turning.example/")
    assert (seen.code, seen.facts) == ("redirect_blocked", {"reason": "blocked_address"})
    assert [hop["sent"] for hop in seen.hops] == ["sent", "not_sent"]
    assert lab.hits("turning.example") == {"turning.example/": 1}


def test_redirect_to_a_name_that_is_private_first_is_refused(fleet: Fleet, lab: LabControl) -> None:
    """M129: the lookup is not repeated in the hope of a better answer; a later call gets one of its own."""
    seen = see(fleet, "https://torebind.example/")
    assert (seen.code, seen.facts) == ("redirect_blocked", {"reason": "blocked_address"})
    assert families(lab, "rebind-private.example") == ["A", "AAAA"]
    assert lab.hits("rebind-private.example") == {}
    assert see(fleet, "https://rebind-private.example/").outcome == "completed"


@pytest.mark.parametrize(
    ("url", "host", "peer"),
    [
        pytest.param("https://GOOD.example/", "good.example", "93.184.215.14", id="X3-case"),
        pytest.param("https://good.example./", "good.example", "93.184.215.14", id="X3-trailing-dot"),
        pytest.param("https://b\u00fccher.example/", "xn--bcher-kva.example", "93.184.215.154", id="X3-u-label"),
        pytest.param("https://g\u3002example/", "g.example", "93.184.215.155", id="X3-ideographic-dot"),
        pytest.param("http://under_score.example/", "under_score.example", "93.184.215.156", id="X3-underscore"),
        pytest.param("https:\\\\good.example\\", "good.example", "93.184.215.14", id="X3-backslashes"),
    ],
)
def test_pin_covers_every_spelling_of_its_host(fleet: Fleet, lab: LabControl, url: str, host: str, peer: str) -> None:
    """X3: a pin that missed would end the call as internal; a library that looked up itself would be seen by DNS."""
    if host != "good.example":
        lab.site(host, site="page", file="article.html", A=[peer])
    seen = see(fleet, url)
    assert (seen.outcome, [hop["peer"] for hop in seen.hops]) == ("completed", [peer])
    assert families(lab, host) == ["A", "AAAA"]


@pytest.mark.parametrize(
    ("url", "peer"),
    [
        pytest.param("http://93.184.215.14/", "93.184.215.14", id="X3-ipv4"),
        pytest.param("http://1572394766/", "93.184.215.14", id="X3-ipv4-as-one-number"),
        pytest.param("http://[2606:2800:220:1::106]/", "2606:2800:220:1::106", id="X3-ipv6"),
    ],
)
def test_address_in_the_url_is_gone_to_without_dns(fleet: Fleet, lab: LabControl, url: str, peer: str) -> None:
    lab.site(peer, f"[{peer}]", site="page", file="article.html", listen=[peer])  # as the Host header spells it
    seen = see(fleet, url)
    assert (seen.outcome, [hop["peer"] for hop in seen.hops]) == ("completed", [peer])
    assert lab.queries() == []


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        pytest.param("deadfirst.example", "93.184.215.102", id="X15-refused-first"),
        pytest.param("blackhole.example", "93.184.215.104", id="X15-silent-first"),
        pytest.param("dual.example", "2606:2800:220:1::106", id="X15-ipv6-first"),
        pytest.param("v6.example", "2606:2800:220:1::6", id="X15-ipv6-alone"),
        pytest.param("servfail6.example", "93.184.215.140", id="X15-one-family-fails"),
        pytest.param("dnstruncated.example", "93.184.215.144", id="X15-dns-over-tcp"),
        pytest.param("manyaddresses.example", "93.184.215.111", id="X15-twelve"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_request_goes_once_to_the_address_that_answers(
    fleet: Fleet, lab: LabControl, scheme: str, host: str, peer: str
) -> None:
    """X15: one request, spread over the validated addresses while nothing was sent."""
    seen = see(fleet, f"{scheme}://{host}/")
    (hop,) = seen.hops
    assert (seen.outcome, hop["peer"]) == ("completed", peer)
    assert ip_address(peer) in {ip_address(one) for one in hop["addresses"]}
    assert lab.hits(host) == {f"{host}/": 1}


def test_dead_ipv6_address_gives_way_to_ipv4(fleet: Fleet, lab: LabControl) -> None:
    """X15: half-working IPv6 is common; the request still goes once."""
    lab.site(
        "halfdual.example",
        site="page",
        file="article.html",
        A=["93.184.215.157"],
        AAAA=["2606:2800:220:1::157"],
        dead=["2606:2800:220:1::157"],
    )
    seen = see(fleet, "https://halfdual.example/")
    assert (seen.outcome, seen.hops[0]["peer"]) == ("completed", "93.184.215.157")
    assert lab.hits("halfdual.example") == {"halfdual.example/": 1}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("site", "code"),
    [
        pytest.param({"site": "reset"}, "truncated_body", id="X15-reset-in-the-body"),
        pytest.param({"site": "wire", "replies": [{"wire_b64": "", "close": "rst"}]}, "network_error", id="X15-reset"),
        pytest.param({"site": "wire", "replies": [{"wire_b64": "", "close": "fin"}]}, "network_error", id="X15-end"),
        pytest.param({"site": "half_head"}, "truncated_body", id="X15-half-head"),
    ],
)
def test_second_address_is_left_alone_once_the_request_left(
    fleet: Fleet, lab: LabControl, site: dict, code: str, scheme: str
) -> None:
    """X15, X7: what was sent is never sent again, though another judged address would answer."""
    lab.site("fickle.example", **site, A=[DEAD_FIRST, DEAD_SECOND])
    seen = see(fleet, f"{scheme}://fickle.example/")
    (hop,) = seen.hops
    assert (seen.outcome, seen.code, hop["sent"]) == ("failed", code, "sent")
    assert hop["peer"] == DEAD_FIRST
    assert lab.hits("fickle.example") == {"fickle.example/": 1}


@pytest.mark.parametrize("host", ["plain443.example", "unknownca.example", "wrongname.example"])
def test_no_request_leaves_where_no_tls_session_stands(fleet: Fleet, lab: LabControl, host: str) -> None:
    """M129, X7: without a valid certificate nothing is sent."""
    seen = see(fleet, f"https://{host}/")
    assert (seen.outcome, seen.code) == ("failed", "tls_error")
    assert seen.envelope["receipt"]["sent"] == "not_sent"
    assert lab.hits(host) == {}
