"""The lab's sites, visited from inside with real sockets, ports and certificates (houses' fault list, issue 2)."""

import gzip
import json
import zlib

import pytest

from ops.lab import ControlRefused, LabControl, LabSession
from tests.ops.lab.visits import Go, Visit


def test_good_page_comes_over_https_with_the_labs_authority(go: Go) -> None:
    (visit,) = go("https://good.example/")
    assert (visit.status, visit.peer) == (200, "93.184.215.14")
    assert b"couriers" in gzip.decompress(visit.body)


BAD = {
    "https://expired.example/": "expired",
    "https://wrongname.example/": "Hostname mismatch",
    "https://selfsigned.example/": "self-signed certificate",
    "https://unknownca.example/": "unable to get local issuer",
    "https://plain443.example/": "SSLError",
    "https://silent.example/": "TimeoutError",
    "https://unreachable.example/": "refused",
}
SITES = {
    "http://good.example/": (200, b"Content-Encoding: gzip"),
    "https://json.example/": (200, b"application/json"),
    "https://sjis.example/": (200, "街道の歩き方".encode("shift_jis")),
    "https://pdf.example/": (200, b"%PDF-1.4"),
    "https://notfound.example/": (404, b"Not found"),
    "https://error.example/": (500, b"broke"),
    "https://busy.example/": (429, b"Retry-After: 120"),
    "https://loop.example/": (302, b"Location: https://loop.example/"),
    "https://redirect.example/2": (302, b"Location: /1"),
    "https://redirect.example/0": (200, b"arrived"),
    "https://nolocation.example/": (301, b"Content-Length: 0"),
    "https://toprivate.example/": (302, b"Location: //10.0.0.1/"),
    "https://downgrade.example/": (302, b"Location: http://good.example/"),
    "https://cookie.example/": (302, b"Set-Cookie: lab="),
    "https://cookie.example/seen": (200, b"no cookies"),
    "https://slow.example/ms/50": (200, b"<h1>How couriers"),
    "https://deadfirst.example/": (200, b"Content-Length"),
    "https://halfhead.example/": (200, b"X-Unfin"),
}


@pytest.fixture(scope="module")
def visits(go: Go) -> dict[str, Visit]:
    return {visit.url: visit for visit in go(*BAD, *SITES)}


@pytest.mark.parametrize("url", BAD)
def test_connection_fails_in_its_own_way_when_the_host_is_bad(visits: dict[str, Visit], url: str) -> None:
    assert BAD[url] in str(visits[url].error)


@pytest.mark.parametrize("url", SITES)
def test_site_behaves_as_its_name_says(visits: dict[str, Visit], url: str) -> None:
    status, part = SITES[url]
    visit = visits[url]
    opened = gzip.decompress(visit.body) if visit.body.startswith(b"\x1f\x8b") else b""
    assert visit.status == status
    assert part in visit.wire + opened


def test_v6_host_answers_over_ipv6(go: Go) -> None:
    (visit,) = go("https://v6.example/")
    assert (visit.status, visit.peer) == (200, "2606:2800:220:1::6")


def test_sizes_are_as_promised(go: Go) -> None:
    long, huge = go("https://long.example/", "https://huge.example/")
    assert 65_536 < len(long.body) < 200_000
    assert 3_000_000 <= len(huge.body) < 3_100_000


def test_bomb_unpacks_to_far_more_than_it_weighs(go: Go) -> None:
    (visit,) = go("https://bomb.example/")
    opened = zlib.decompressobj(31).decompress(visit.body, 50_000_000)
    assert len(opened) == 50_000_000
    assert not opened.strip(b"\0")


def test_truncated_bodies_end_before_their_framing_says(go: Go) -> None:
    short, chunked, packed, torn = go(
        "https://truncated.example/length",
        "https://truncated.example/chunked",
        "https://truncated.example/gzip",
        "https://reset.example/",
    )
    assert len(short.body) < 100_000
    assert not chunked.body.endswith(b"0\r\n\r\n")
    inflate = zlib.decompressobj(31)
    inflate.decompress(packed.body)
    assert not inflate.eof
    assert torn.error is not None
    assert b"promises" in torn.body


def test_mutating_page_is_never_the_same(go: Go) -> None:
    one, two = go("https://mutating.example/", "https://mutating.example/")
    assert one.body != two.body


def test_echo_tells_the_request_headers(go: Go) -> None:
    (visit,) = go("https://echo.example/a?b=1")
    told = json.loads(visit.body)
    assert told["target"] == "/a?b=1"
    assert ["Host", "echo.example"] in told["headers"]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("close", ["fin", "rst"])
def test_wire_host_sends_these_very_bytes(control: LabControl, go: Go, scheme: str, close: str) -> None:
    wire = b"HTTP/1.1 200 OK\nX-Odd: \x00\xff\r\n\r\nbody without a length"
    control.wire("wire.example", wire, close=close)
    (visit,) = go(f"{scheme}://wire.example/")
    assert visit.wire == wire
    assert (visit.error is None) == (close == "fin")


def test_wire_hosts_share_a_sequence_when_told_together(control: LabControl, go: Go) -> None:
    replies = [{"status": 302, "headers": {"Location": "https://two.example/"}}, {"status": 200, "body": "end"}]
    control.site("one.example", "two.example", site="wire", replies=replies)
    first, second, third = go("https://one.example/", "https://two.example/", "https://one.example/")
    assert (first.status, second.status, third.status) == (302, 200, 200)


def test_site_replaces_a_host_of_the_zone_until_reset(control: LabControl, go: Go) -> None:
    control.site("good.example", site="page", status=503, body="closed for today")
    (closed,) = go("https://good.example/")
    control.reset()
    (opened,) = go("https://good.example/")
    assert (closed.status, opened.status) == (503, 200)


def test_hits_are_counted_by_host_and_target(control: LabControl, go: Go) -> None:
    go("https://text.example/a?b", "http://text.example/a?b", "https://text.example/c")
    assert control.hits("text.example") == {"text.example/a?b": 2, "text.example/c": 1}


def test_control_says_what_was_wrong_when_a_call_is_bad(lab: LabSession, control: LabControl) -> None:
    with pytest.raises(ControlRefused, match="no-such-behaviour"):
        control.site("bad.example", site="no-such-behaviour")
