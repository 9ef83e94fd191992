"""Hostile origins and hostile surroundings against the transport (M121, M124-M127, X6)."""

import gzip
import os
import resource
import select
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

import pytest

from schemas.deadline import Deadline
from schemas.errors import (
    Cancelled,
    HeadersTooLarge,
    InvalidArguments,
    NetworkError,
    OutriderError,
    RequestTimeout,
    ResponseTooLarge,
    TruncatedBody,
    UnsupportedContentEncoding,
)
from schemas.reply import Ask
from tests.faults.servers import answer, drip, endless, hold_after, origin, page, reset_after
from tests.workers.net.transporting import LIMITS, exchange
from workers.net.curl_options import USER_AGENT
from workers.net.trace import Trace

OK = b"HTTP/1.1 200 OK\r\n"
GZIP = "Content-Encoding: gzip"
HALF = OK + b"Content-Length: 10\r\n\r\nhello"

FAULTS = {
    "bomb of zeros": (answer(page(gzip.compress(bytes(20_000_000)), GZIP)), ResponseTooLarge),
    "bomb of members": (answer(page(gzip.compress(b"") * 90_000, GZIP)), UnsupportedContentEncoding),
    "bomb in a bomb": (answer(page(gzip.compress(gzip.compress(bytes(20_000_000))), f"{GZIP}, gzip")), OutriderError),
    "endless body": (endless(OK + b"\r\n", b"x" * 60_000), ResponseTooLarge),
    "endless chunks": (endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 9_000), ResponseTooLarge),
    "declared too long": (hold_after(OK + b"Content-Length: 2000001\r\n\r\n"), ResponseTooLarge),
    "endless headers": (endless(OK, b"X-A: " + b"y" * 90 + b"\r\n"), HeadersTooLarge),
    "endless header": (endless(OK + b"X-A: ", b"y" * 60_000), HeadersTooLarge),
    "many headers": (answer(OK + b"A: b\r\n" * 10_000 + b"\r\n"), HeadersTooLarge),
    "endless 100s": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), HeadersTooLarge),
    "endless trailers": (endless(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"), HeadersTooLarge),
    "end before a byte": (answer(b""), NetworkError),
    "end in the body": (answer(HALF), TruncatedBody),
    "end in the head": (answer(OK + b"Content-Le"), TruncatedBody),
    "reset before a byte": (reset_after(b""), NetworkError),
    "reset in the body": (reset_after(HALF), TruncatedBody),
    "reset in a chunk": (reset_after(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello"), TruncatedBody),
    "reset without framing": (reset_after(OK + b"\r\nhello"), TruncatedBody),
    "bad chunk": (answer(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello"), NetworkError),
}


@pytest.mark.parametrize(("fault", "error"), FAULTS.values(), ids=FAULTS)
def test_exchange_ends_in_its_error_when_the_origin_is_hostile(transport, fault, error):
    trace = Trace()
    with origin(fault) as server:
        with pytest.raises(error):
            exchange(transport, f"http://a.test:{server.port}/", trace=trace)
        assert server.left.wait(5)
    assert trace.sent == "sent"
    assert trace.wire_bytes <= LIMITS.wire_bytes + 16_384  # one piece over, where the origin never stops


@pytest.mark.parametrize("unframed", [True, False])
def test_exchange_calls_the_body_truncated_when_tls_breaks_off(transport, tls, unframed):
    wire = OK + b"\r\nhello" if unframed else HALF
    with origin(answer(wire), tls=tls("a.test")) as server, pytest.raises(TruncatedBody):
        exchange(transport, f"https://a.test:{server.port}/")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells what arrived on Linux alone")
@pytest.mark.parametrize("wire", [b"1;" + b"a" * 1_000 + b"\r\nx\r\n", b"1;" + b"a" * 60_000], ids=["many", "one"])
def test_exchange_bounds_what_arrives_when_chunk_extensions_never_end(transport, wire):
    trace = Trace()
    with origin(endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", wire)) as server:
        with pytest.raises(ResponseTooLarge) as seen:
            exchange(transport, f"http://a.test:{server.port}/", trace=trace)
        assert server.left.wait(5)
    assert (seen.value.facts, trace.body) == ({"reason": "framing"}, "over_limit")


@pytest.mark.parametrize(("size", "fits"), [(99, True), (100, True), (101, False)])  # under, at, over the bound
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_exchange_bounds_the_wire_when_the_size_is_near_the_limit(transport, size, fits, framing):
    body = b"x" * size
    wire = {
        "length": page(body),
        "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n" + f"{size:x}\r\n".encode() + body + b"\r\n0\r\n\r\n",
        "close": OK + b"\r\n" + body,
    }[framing]
    trace, limits = Trace(), replace(LIMITS, wire_bytes=100)
    with origin(answer(wire)) as server, nullcontext() if fits else pytest.raises(ResponseTooLarge) as error:
        reply = exchange(transport, f"http://a.test:{server.port}/", limits=limits, trace=trace)
        assert (reply.body, reply.wire_bytes) == (body, size)
    if not fits:
        assert (trace.body, error.value.facts) == ("over_limit", {"reason": "wire", "limit_bytes": 100})


@pytest.mark.parametrize(
    "fault",
    [
        hold_after(),
        hold_after(OK),
        drip(OK[:-2], b"K", 0.05),
        drip(OK, b"A: b\r\n", 0.05),
        drip(OK + b"\r\n", b"x", 0.05),
    ],
    ids=["no answer", "half a head", "slow status", "slow headers", "slow body"],
)
def test_exchange_times_out_when_the_origin_is_slow_m124(transport, fault):
    with origin(fault) as server:
        with pytest.raises(RequestTimeout):
            exchange(transport, f"http://a.test:{server.port}/", deadline=Deadline.after(0.4))
        assert server.left.wait(5)


def test_exchange_times_out_when_the_request_limit_is_shorter_than_the_deadline(transport):
    limits = replace(LIMITS, request_seconds=0.3)
    with origin(hold_after()) as server, pytest.raises(RequestTimeout):
        exchange(transport, f"http://a.test:{server.port}/", limits=limits, deadline=Deadline.after(60))


def test_exchange_sends_nothing_when_the_deadline_has_passed(transport):
    with origin(answer(page())) as server:
        with pytest.raises(RequestTimeout):
            exchange(transport, f"http://a.test:{server.port}/", deadline=Deadline.after(0))
        assert server.connections == 0


@pytest.mark.parametrize(
    ("fault", "scheme", "reads"),
    [
        (hold_after(), "http", True),
        (hold_after(HALF), "http", True),
        (drip(OK + b"\r\n", b"x", 0.01), "http", True),
        (hold_after(), "https", False),
    ],
    ids=["before the head", "in the body", "while dripping", "in the handshake"],
)
def test_exchange_ends_the_connection_when_it_is_cancelled_m127(transport, fault, scheme, reads):
    called_back = threading.Event()
    deadline = Deadline.after(30, cancelled=called_back.is_set)
    with origin(fault, reads=reads) as server, ThreadPoolExecutor(1) as pool:
        url = f"{scheme}://a.test:{server.port}/"
        running = pool.submit(exchange, transport, url, deadline=deadline)
        assert not server.left.wait(0.3)
        called_back.set()
        assert server.left.wait(1), "the peer saw no end within a second"
        with pytest.raises(Cancelled):
            running.result(5)


@pytest.mark.skipif(sys.platform != "linux", reason="POLLRDHUP is known on Linux alone")
def test_exchange_ends_a_tls_connection_when_the_peer_never_says_goodbye(transport, tls):
    ended = threading.Event()

    def never_answers(sock):  # libcurl alone would wait for its close_notify
        sock.sendall(page())
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLRDHUP)
        if poll.poll(5_000):
            ended.set()

    with origin(never_answers, tls=tls("a.test")) as server:
        assert exchange(transport, f"https://a.test:{server.port}/").body == b"hello"
        assert ended.wait(4)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("fault", [hold_after(HALF), drip(OK + b"\r\n", b"x", 0.001)], ids=["idle", "busy"])
def test_exchange_lets_an_exception_through_when_a_signal_handler_raises_it(transport, fault):
    def interrupt(_number, _frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with origin(fault) as server:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Interrupted):
                exchange(transport, f"http://a.test:{server.port}/")
            assert server.left.wait(5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_exchange_reads_no_environment_when_it_names_proxies_and_a_netrc(transport, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine a.test login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    with origin(answer(page(b"proxied"))) as proxy, origin(answer(page())) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert exchange(transport, f"http://a.test:{server.port}/").body == b"hello"
        assert proxy.connections == 0
        assert b"authorization" not in server.requests[0].lower()


def test_exchange_sends_exactly_its_own_headers_when_nothing_was_asked_m121(transport):
    with origin(answer(page(b"x", "Set-Cookie: a=b; Path=/", 'Alt-Svc: h3=":1"'))) as server:
        for _ in range(2):
            exchange(transport, f"http://a.test:{server.port}/p?q")
        first, second = server.requests
    lines = first.decode().split("\r\n")
    wanted = {f"Host: a.test:{server.port}", f"User-Agent: {USER_AGENT}", "Accept: */*", "Accept-Encoding: gzip"}
    assert (lines[0], set(lines[1:-2])) == ("GET /p?q HTTP/1.1", wanted)
    assert first == second


def test_exchange_offers_no_coding_when_the_profile_takes_identity_alone(transport):
    with origin(answer(page(gzip.compress(b"x"), GZIP))) as server:
        with pytest.raises(UnsupportedContentEncoding):
            exchange(transport, f"http://a.test:{server.port}/", limits=replace(LIMITS, gzip=False))
        assert b"Accept-Encoding: identity\r\n" in server.requests[0]


def test_exchange_sends_a_body_when_it_posts(transport):
    ask = Ask(method="POST", headers=(("Content-Type", "text/plain"), ("X-Empty", "")), body=b"a=b\0c")
    with origin(answer(page())) as server:
        exchange(transport, f"http://a.test:{server.port}/", ask=ask)
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert b"\r\nContent-Type: text/plain\r\nX-Empty:\r\nContent-Length: 5" in head
    assert body == b"a=b\0c"
    assert b"Expect" not in head


@pytest.mark.parametrize(
    "header",
    [
        *[("X", "a\r\nEvil: 1"), ("X\r\nEvil", "1"), ("X", "a\0b"), ("", "a"), ("X:", "a"), ("Host", "b.test")],
        *[("content-length", "0"), ("Transfer-Encoding", "chunked"), ("Accept-Encoding", "br"), ("X", "ä")],
    ],
)
def test_exchange_refuses_when_a_header_would_change_the_frame(transport, header):
    with origin(answer(page())) as server:
        with pytest.raises(InvalidArguments):
            exchange(transport, f"http://a.test:{server.port}/", ask=Ask(headers=(header,)))
        assert server.connections == 0


def test_exchange_refuses_when_a_get_has_a_body(transport):
    with pytest.raises(InvalidArguments):
        exchange(transport, "http://a.test/", ask=Ask(body=b"x"))


def test_transport_keeps_exchanges_apart_when_threads_share_it(transport):
    def echo(sock):
        sock.sendall(page(echoes.requests[-1] and b"x" * 30_000))

    with origin(echo) as echoes, ThreadPoolExecutor(16) as pool:
        urls = [f"http://a{number}.test:{echoes.port}/{number}" for number in range(64)]
        replies = list(pool.map(lambda url: exchange(transport, url), urls))
        assert [reply.place.href for reply in replies] == urls
        seen = {tuple(request.split(b"\r\n")[:2]) for request in echoes.requests}
    hosts = {(f"GET /{n} HTTP/1.1".encode(), f"Host: a{n}.test:{echoes.port}".encode()) for n in range(64)}
    assert seen == hosts


def test_transport_leaks_no_descriptor_when_exchanges_fail(transport, tls):
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"  # noqa: PTH112 - two systems' names
    with origin(answer(HALF)) as server, origin(answer(page()), tls=tls("a.test")) as secure:

        def once() -> int:
            with pytest.raises(TruncatedBody):
                exchange(transport, f"http://a.test:{server.port}/")
            exchange(transport, f"https://a.test:{secure.port}/")
            assert server.left.wait(5)
            return len(os.listdir(folder))  # noqa: PTH208 - names alone

        once()
        counts = [once() for _ in range(20)]
    assert max(counts[10:]) <= max(counts[:10]) + 4  # the origins' threads close theirs a moment later


def test_exchange_works_when_descriptors_are_beyond_select(transport):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, hard), hard))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        with origin(answer(page())) as server:
            assert exchange(transport, f"http://a.test:{server.port}/").body == b"hello"
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
