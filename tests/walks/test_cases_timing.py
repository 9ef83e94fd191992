"""The timing cases, and everything else that ends by the call's one deadline (M124, C18, X15), side by side.

The cases assume a deadline of 3 s; the profile's is 30 s, and what they do slowly is slowed down by as much.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.lab.control import LabControl
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from tests.fleet import Fleet
from tests.walks.crowd import Seen, see_all

ROWS = {param.values[0]["id"]: param.values[0]["input"] for param in cases("body") if param.id >= "body-141"}
DEADLINE_MS = int(WEB_FETCH.limits.deadline_seconds * 1000)


def slowed(row: str, key: str) -> int:
    """A case's time, stretched as its deadline is."""
    given = ROWS[row]
    return int(given[key] * DEADLINE_MS / given["deadline_ms"])


def arrange(lab: LabControl) -> dict[str, str]:
    """A site for each way to be slow, and the URL that meets it."""
    drip = ROWS["body-141"]
    # The case's own pace: at 100 ms a byte, its thousand bytes outlast the longer deadline as well.
    lab.site("body-141.case.example", site="drip", total=drip["total"], bytes=drip["bytes_per"], every_ms=100)
    later = {"status": 302, "headers": {"Location": "/on"}, "delay_ms": slowed("body-149", "each_ms")}
    lab.site("body-149.case.example", site="wire", replies=[later])
    slow = {"answers": ["93.184.215.14"], "delay_ms": slowed("body-150", "ms")}
    lab.dns("body-150.case.example", A=slow, AAAA={"delay_ms": slow["delay_ms"]})
    return {
        "body-141": "https://body-141.case.example/",
        "body-149": "https://body-149.case.example/",
        "body-150": "https://body-150.case.example/",
        "drip": "https://drip.example/",
        "drip-plain": "http://drip.example/",
        "silent": "https://silent.example/",
        "mute": "https://mute.example/",
        "mute-plain": "http://mute.example/",
        "half": "https://counted.example/half/timing",
        "dnssilent": "https://dnssilent.example/",
    }


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> Iterator[dict[str, Seen]]:
    """All of them at once."""
    whole_lab.reset()
    yield see_all(fleet, arrange(whole_lab).items())
    assert whole_lab.canaries() == []


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        pytest.param("body-141", "sent", id="body-141-one-byte-at-a-time"),
        pytest.param("drip", "sent", id="M124-drip"),
        pytest.param("drip-plain", "sent", id="M124-drip-plain"),
        pytest.param("half", "sent", id="M124-half-a-page"),
        pytest.param("mute", "sent", id="M124-no-answer"),
        pytest.param("mute-plain", "sent", id="M124-no-answer-plain"),
        pytest.param("silent", "not_sent", id="M124-no-handshake"),
    ],
)
def test_slow_site_ends_by_the_deadline_with_one_receipt(answers: dict[str, Seen], name: str, sent: str) -> None:
    """M124: every read succeeds, or none is ever answered; the whole call has one end."""
    seen = answers[name]
    assert (seen.outcome, seen.code, seen.envelope["value"]) == ("failed", "request_timeout", None)
    assert seen.envelope["receipt"]["sent"] == sent
    (hop,) = seen.hops
    assert (hop["sent"], hop["code"]) == (sent, "request_timeout")


def test_deadline_spans_the_hops_when_each_is_slow(answers: dict[str, Seen], whole_lab: LabControl) -> None:
    """M124, body-149: four redirects of 9 s each would be followed; the fourth request meets the end of 30 s."""
    seen = answers["body-149"]
    assert (seen.outcome, seen.code) == ("failed", "request_timeout")
    assert [hop.get("status") for hop in seen.hops] == [302, 302, 302, None]
    assert [hop["sent"] for hop in seen.hops] == ["sent"] * 4
    assert sum(whole_lab.hits("body-149.case.example").values()) == 4


@pytest.mark.parametrize("name", ["body-150", "dnssilent"])
def test_dns_that_keeps_waiting_ends_the_call_unsent(answers: dict[str, Seen], name: str) -> None:
    """body-150: a name that answers after 29 s. The profile gives a lookup 5 s: that end comes first."""
    seen = answers[name]
    assert (seen.outcome, seen.code, seen.facts) == ("failed", "dns_failure", {"reason": "timeout"})
    (hop,) = seen.hops
    assert (hop["sent"], hop["dns"]) == ("not_sent", {"A": "timeout", "AAAA": "timeout"})


def test_timing_cases_are_all_here() -> None:
    rows = [param.values[0] for param in cases("body") if param.values[0].get("sub") == "timing"]
    assert {row["id"] for row in rows} == {"body-141", "body-149", "body-150"}
    assert {row["expect"] for row in rows} == {"timeout"}


def test_account_of_a_slow_call_says_how_much_came(answers: dict[str, Seen]) -> None:
    """X6: what dripped in is counted, and not kept as a body."""
    hop: dict[str, Any] = answers["drip"].hops[0]
    assert 0 < hop["wire_bytes"] < 100_000
    assert hop["body"] != "complete"
    assert "body_sha256" not in hop
