"""What an exchange reaches: the pinned addresses or nothing (X3, X4, X7, X15, M129)."""

import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pycurl
import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import Internal, InvalidUrl, NetworkError, OutriderError, TlsError
from schemas.reply import Ask
from tests.faults.servers import answer, black_hole, hold_after, origin, page, reset_after
from tests.workers.net.transporting import LIMITS, cases, exchange, pin_of
from workers.net.curl_lane import Lane
from workers.net.curl_options import Wish, agree
from workers.net.trace import Trace
from workers.net.transfer import Transfer

many_loopbacks = pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is loopback on Linux alone")


@pytest.fixture
def server():
    with origin(answer(page())) as made:
        yield made


@pytest.fixture
def lane():
    made = Lane()
    yield made
    made.close()


@pytest.fixture
def attempt(ca_file, lane):
    """One attempt without the exchange's own checks before it, so that the library's behaviour alone is seen."""

    def carry(place: Destination, *addresses: str, trace: Trace | None = None):
        wish = Wish(
            place=place,
            addresses=pin_of(place, *addresses).addresses,
            ask=Ask(),
            limits=LIMITS,
            left_seconds=5,
            ca_file=ca_file,
        )
        return Transfer(wish, Deadline.after(5), trace or Trace(), lambda _count: None).carry(lane)

    return carry


@pytest.mark.parametrize(
    "change",
    [{"host": "a.test."}, {"port": 1}, {"host": "b.test"}, {"addresses": ()}, {"host": "A.test"}],
    ids=["trailing_dot", "other_port", "other_name", "no_address", "other_case"],
)
def test_exchange_refuses_when_the_pin_is_another_places_x3(transport, server, change):
    place = Destination.parse(f"http://a.test:{server.port}/")
    pin = replace(pin_of(place), **change)
    with pytest.raises(Internal):
        transport.exchange(place, pin, Ask(), limits=LIMITS, deadline=Deadline.after(5), trace=Trace())
    assert server.connections == 0


@pytest.mark.parametrize(
    "href",
    ["http://a.test.:{port}/", "http://b.test:{port}/", "http://xn--4ca.test:{port}/", "http://a.test:1/"],
    ids=["trailing_dot", "other_name", "a_label", "other_port"],
)
def test_attempt_looks_nothing_up_when_the_pin_misses_x3(attempt, server, href):
    place = replace(Destination.parse(f"http://a.test:{server.port}/"), href=href.format(port=server.port))
    trace = Trace()
    with pytest.raises(Internal, match="The pin did not cover the host"):
        attempt(place, trace=trace)
    assert server.connections == 0
    assert trace.sent == "not_sent"


def test_attempt_forgets_the_pin_before_when_a_lane_is_used_again_x3(attempt, server):
    place = Destination.parse(f"http://a.test:{server.port}/")
    attempt(place)
    other = Destination.parse(f"http://b.test:{server.port}/")
    with pytest.raises(Internal):
        attempt(replace(other, href=place.href))
    assert server.connections == 1


@many_loopbacks
def test_exchange_reaches_the_new_address_when_the_pin_changed_m129(transport, server):
    url = f"http://a.test:{server.port}/"
    exchange(transport, url)
    with origin(answer(page(b"second")), address="127.0.0.2", port=server.port) as second:
        assert exchange(transport, url, "127.0.0.2").body == b"second"
        assert (server.connections, second.connections) == (1, 1)


@pytest.mark.parametrize(("address", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_exchange_reaches_the_literal_when_the_place_is_one(transport, address, host):
    trace = Trace()
    with origin(answer(page()), address=address) as server:
        for _ in range(2):
            exchange(transport, f"http://{host}:{server.port}/", address, trace=trace)
        assert f"Host: {host}:{server.port}\r\n".encode() in server.requests[1]
    assert trace.peer == address


def test_attempt_opens_no_socket_when_the_library_has_another_address_m129(attempt, server, lane):
    place = Destination.parse(f"http://a.test:{server.port}/")
    attempt(place)
    lane.stale_pin = None  # so the library still knows a.test at 127.0.0.1
    other, trace = Destination.parse(f"http://b.test:{server.port}/"), Trace()
    with pytest.raises(Internal, match="outside the pin"):
        attempt(replace(other, href=place.href), "93.184.215.14", trace=trace)
    assert server.connections == 1
    assert trace.sent == "not_sent"


@pytest.mark.parametrize(
    ("peer", "port", "passes"),
    [("127.0.0.1", 80, True), ("127.0.0.1", 81, False), ("127.0.0.2", 80, False), ("?", 80, False)],
)
def test_attempt_lets_the_request_leave_when_the_peer_is_pinned_alone_x7(ca_file, peer, port, passes):
    place, trace = Destination.parse("http://a.test/"), Trace()
    wish = Wish(
        place=place, addresses=pin_of(place).addresses, ask=Ask(), limits=LIMITS, left_seconds=5, ca_file=ca_file
    )
    made = Transfer(wish, Deadline.after(5), trace, lambda _count: None)
    verdict = made._before_request(peer, "127.0.0.1", port, 1)
    assert (verdict, trace.sent) == ((0, "sent") if passes else (1, "not_sent"))


def admitted() -> list[Any]:
    """The places of the recorded URLs that parsing lets pass, by their rows' ids."""
    found = []
    for row in cases("url", None):
        given = row["input"]["url"] if isinstance(row["input"], dict) else row["input"]
        with suppress(OutriderError):  # refused ones are judged elsewhere: nothing is left to agree on
            found.append(pytest.param(Destination.parse(given), id=row["id"]))
    return found


@pytest.mark.parametrize("place", admitted())
def test_parsers_agree_when_a_case_is_admitted_x4(place):
    read = pycurl.CurlUrl(place.href, 0)

    agree(place)

    assert (read.scheme, read.host.strip("[]")) == (place.scheme, place.host)
    with pytest.raises(InvalidUrl):
        agree(replace(place, host=f"x{place.host}"))


@pytest.mark.parametrize(
    "href",
    [
        "http://127.0.0.1:6666\\@a.test/",
        "http://b.test/",
        "https://a.test/",
        "http://a.test:81/",
        "http://user@a.test/",
        "http://a.test:99999/",
        "http://ä.test/",
        "ftp://a.test/",
        "a.test",
    ],
)
def test_exchange_refuses_when_the_parsers_disagree_x4(transport, href):
    place = replace(Destination.parse("http://a.test/"), href=href)
    trace = Trace()
    with pytest.raises(InvalidUrl):
        transport.exchange(place, pin_of(place), Ask(), limits=LIMITS, deadline=Deadline.after(5), trace=trace)
    assert (trace.sent, trace.attempts) == ("not_sent", 0)


@many_loopbacks
def test_exchange_tries_the_next_address_when_the_first_is_dead_x15(transport, server):
    trace = Trace()
    with black_hole("127.0.0.2", server.port):
        exchange(transport, f"http://a.test:{server.port}/", "127.0.0.2", "127.0.0.1", trace=trace)
    assert (trace.peer, trace.attempts, len(server.requests)) == ("127.0.0.1", 1, 1)
    assert trace.milliseconds["connect"] < 1_000


@many_loopbacks
def test_exchange_tries_the_next_address_when_the_first_refuses_x15(transport, server):
    trace = Trace()
    exchange(transport, f"http://a.test:{server.port}/", "127.0.0.2", "::1", "127.0.0.1", trace=trace)
    assert trace.peer == "127.0.0.1"


@many_loopbacks
@pytest.mark.parametrize("how", ["silent", "closing", "resetting", "wrong_certificate"])
def test_exchange_tries_the_next_address_when_the_first_fails_in_tls_x15(transport, tls, how):
    faults = {"silent": hold_after(), "closing": answer(b""), "resetting": reset_after(b"")}
    fault = faults.get(how, answer(page(b"no")))
    first_tls = tls("b.test") if how == "wrong_certificate" else None
    trace = Trace()
    with (
        origin(answer(page()), tls=tls("a.test")) as good,
        origin(fault, tls=first_tls, reads=bool(first_tls), address="127.0.0.2", port=good.port) as first,
    ):
        deadline = Deadline.after(4)  # a silent one costs a second, not its share of the deadline
        url = f"https://a.test:{good.port}/"
        reply = exchange(transport, url, "127.0.0.2", "127.0.0.1", deadline=deadline, trace=trace)
        assert (reply.body, trace.peer, trace.attempts) == (b"hello", "127.0.0.1", 2)
        assert (first.connections, first.requests) == (1, [])


@many_loopbacks
@pytest.mark.parametrize("fault", [answer(b""), reset_after(b""), answer(b"junk"), answer(page()[:-1])])
def test_exchange_tries_no_other_address_when_the_request_left_x7(transport, server, fault):
    trace = Trace()
    with origin(fault, address="127.0.0.2", port=server.port) as first:
        with pytest.raises(OutriderError):
            exchange(transport, f"http://a.test:{server.port}/", "127.0.0.2", "127.0.0.1", trace=trace)
        assert (len(first.requests), server.connections) == (1, 0)
    assert (trace.sent, trace.peer, trace.attempts) == ("sent", "127.0.0.2", 1)


def test_exchange_says_not_sent_when_nobody_listens_x7(transport):
    trace = Trace()
    with origin(answer(page())) as gone:
        pass
    with pytest.raises(NetworkError) as seen:
        exchange(transport, f"http://a.test:{gone.port}/?q=secret", trace=trace)
    assert (trace.sent, seen.value.facts["reason"]) == ("not_sent", "connect")
    assert not any(word in f"{seen.value} {seen.value.facts}" for word in ("127.0.0.1", "secret"))


def test_exchange_says_not_sent_when_tls_fails_x7(transport, tls):
    trace = Trace()
    with origin(answer(page()), tls=tls("b.test")) as server:
        with pytest.raises(TlsError):
            exchange(transport, f"https://a.test:{server.port}/", trace=trace)
        assert server.requests == []
    assert trace.sent == "not_sent"
