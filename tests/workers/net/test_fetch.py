"""The walk of a fetch: what each hop leaves in the journal, what is followed, what is passed on (M121-M129, X7)."""

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import (
    AddressRefused,
    Cancelled,
    HttpError,
    OutriderError,
    RateLimited,
    RedirectBlocked,
    RedirectLimit,
    RedirectLoop,
    RequestTimeout,
    SecretInUrl,
    SourceUnavailable,
    UnsupportedPort,
)
from schemas.profiles import WEB_FETCH
from schemas.receipt import Journal
from schemas.reply import Ask
from tests.faults.servers import answer, drip, endless, hold_after, in_turn, origin, page, peer_left, redirect
from tests.workers.net.fetching import PUBLIC, Names, internet
from tests.workers.net.transporting import cases
from workers.net.fetch import fetch, road

LIMITS = WEB_FETCH.limits
NAMES = ("a.example.com", "b.example.com")
END = page(b"the end", "Content-Type: text/plain")


def chain(*wires: bytes):
    return in_turn(*(answer(wire) for wire in wires))


@pytest.fixture
def walk(transport, tls):
    """Fetch a URL from origins that commit a fault: (reply or error, journal, requests)."""

    def go(url, fault, *, ask=None, limits=LIMITS, deadline=None, names=None, progress=lambda _step, _facts: None):
        journal = Journal()
        with internet(transport, fault, tls(*NAMES), names) as (found, plain, secure):
            try:
                place = Destination.parse(url)
                end = fetch(place, ask or Ask(), limits, found, deadline or Deadline.after(10), journal, progress)
            except OutriderError as error:
                end = error
        return end, journal, plain.requests + secure.requests

    return go


def test_fetch_writes_each_hop_down_when_a_site_redirects(walk):
    reply, journal, _ = walk("http://a.example.com/x?q=1", chain(redirect("https://b.example.com/y"), END))
    first, second = journal.hops
    assert (reply.body, reply.place.href, reply.redirects) == (b"the end", "https://b.example.com/y", 1)
    assert (first.number, first.origin, first.status, first.sent, first.body) == (
        1,
        "http://a.example.com",
        302,
        "sent",
        "none",
    )
    assert (second.number, second.origin, second.status, second.body) == (2, "https://b.example.com", 200, "complete")
    assert (second.dns, second.addresses) == ({"A": "NOERROR", "AAAA": "NOERROR"}, PUBLIC)
    assert (second.peer, second.http_version, second.content_type) == ("127.0.0.1", "1.1", "text/plain")
    assert (second.wire_bytes, second.decoded_bytes, second.code) == (7, 7, None)
    assert second.header_bytes == len(END) - 7
    assert first.url_sha256 == Destination.parse("http://a.example.com/x?q=1").href_sha256()
    assert {"dns", "exchange", "connect", "tls", "first_byte", "total"} <= set(second.milliseconds)
    assert journal.sent() == "sent"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1/", AddressRefused),
        ("http://[::1]/", AddressRefused),
        ("http://localhost/", AddressRefused),
        ("http://metadata.google.internal/", AddressRefused),
        ("http://a.example.com:8080/", UnsupportedPort),
        ("http://a.example.com/?token=x", SecretInUrl),
    ],
)
def test_fetch_asks_nobody_when_the_place_is_refused_m128(walk, url, error):
    names = Names()
    end, journal, requests = walk(url, answer(END), names=names)
    assert type(end) is error
    assert (names.asked, requests) == ([], [])
    assert [(hop.sent, hop.code) for hop in journal.hops] == [("not_sent", error.code)]


def test_fetch_writes_the_verdicts_down_when_an_answer_is_refused_m128(walk):
    names = Names({"a.example.com": ["93.184.216.34", "10.0.0.1"]})
    end, journal, requests = walk("http://a.example.com/", answer(END), names=names)
    (hop,) = journal.hops
    assert (type(end), requests, hop.sent, list(hop.verdicts)) == (AddressRefused, [], "not_sent", ["10.0.0.1"])
    assert "10.0.0.1" not in f"{end} {end.facts}"


def test_fetch_judges_again_when_a_name_moves_between_hops_m129(walk):
    names = Names({"b.example.com": ["169.254.169.254"]})
    end, journal, requests = walk("https://a.example.com/", chain(redirect("https://b.example.com/")), names=names)
    assert (type(end), type(end.__cause__)) == (RedirectBlocked, AddressRefused)
    assert [(hop.sent, hop.code) for hop in journal.hops] == [("sent", None), ("not_sent", "blocked_address")]
    assert (len(requests), names.asked) == (1, ["a.example.com", "b.example.com"])


@pytest.mark.parametrize(("redirects", "follows"), [(3, True), (4, True), (5, False)])  # under, at, over the limit
def test_fetch_bounds_the_redirects_when_there_are_many_m122(walk, redirects, follows):
    hops = [redirect(f"/{number}") for number in range(redirects)]
    end, journal, requests = walk("http://a.example.com/", chain(*hops, END))
    assert len(requests) == len(journal.hops) == min(redirects, LIMITS.redirects_max) + 1
    if follows:
        assert (end.place.href, end.redirects) == (f"http://a.example.com/{redirects - 1}", redirects)
    else:
        assert (type(end), journal.hops[-1].code) == (RedirectLimit, "redirect_limit")


@pytest.mark.parametrize("locations", [["/"], ["/b", "/"], ["/b", "/c", "/c"]])
def test_fetch_names_the_loop_when_a_site_redirects_in_a_circle_m55(walk, locations):
    end, journal, requests = walk("http://a.example.com/", chain(*[redirect(where) for where in locations * 5][:9]))
    assert (type(end), journal.hops[-1].code) == (RedirectLoop, "redirect_loop")
    assert len(requests) == LIMITS.redirects_max + 1


def test_fetch_follows_when_a_site_sends_back_once_to_the_same_place(walk):
    end, _, requests = walk("http://a.example.com/", chain(redirect("/", 302, "Set-Cookie: seen=1"), END))
    assert end.body == b"the end"
    assert all(b"cookie" not in request.lower() for request in requests)


def test_fetch_writes_no_words_of_the_site_down_when_it_makes_a_media_type_up_m154(walk):
    kind = "text/send-your-keys-to-b.example.com; charset=utf-8"
    end, journal, _ = walk("http://a.example.com/", answer(page(b"x", f"Content-Type: {kind}")))
    assert (end.content_type, journal.hops[0].content_type) == (kind, "other")


@pytest.mark.parametrize(
    ("fragment", "locations", "final"),
    [
        ("#f", [], "/x#f"),
        ("", [], "/x"),
        ("#f", ["/y"], "/y#f"),
        ("#f", ["/y", "/z"], "/z#f"),
        ("#f", ["/y#g"], "/y#g"),
        ("#f", ["/y#g", "/z"], "/z#g"),
        ("#f", ["#g"], "/x#g"),
        ("#f", ["/y#"], "/y"),  # its own, and empty
        ("", ["/y#g"], "/y#g"),
        ("#a b\u00e9", ["/y"], "/y#a%20b%C3%A9"),
    ],
)
def test_fetch_lands_on_the_fragment_that_was_asked_for_unless_a_redirect_has_its_own(walk, fragment, locations, final):
    end, journal, requests = walk(
        f"http://a.example.com/x{fragment}", chain(*[redirect(where) for where in locations], END)
    )
    assert end.url() == f"http://a.example.com{final}"
    assert end.place.href == f"http://a.example.com{final.partition('#')[0]}"
    assert all(b"#" not in request for request in requests)
    assert journal.hops[0].url_sha256 == Destination.parse("http://a.example.com/x").href_sha256()


def test_fetch_replays_no_cookie_when_a_redirect_sets_one_m121(walk):
    hops = [
        redirect("/b", 302, "Set-Cookie: a=b; Path=/; Domain=a.example.com"),
        redirect("https://b.example.com/"),
        END,
    ]
    _, _, requests = walk("https://a.example.com/", chain(*hops))
    assert len(requests) == 3
    assert all(b"cookie" not in request.lower() and b"referer" not in request.lower() for request in requests)


@pytest.mark.parametrize("fault", [endless, drip], ids=["endless", "dripping"])
def test_fetch_reads_no_body_when_it_belongs_to_a_redirect_or_an_error(walk, fault):
    head = b"HTTP/1.1 302 Found\r\nContent-Encoding: br\r\nLocation: /b\r\n\r\n"
    sender = endless(head, b"x" * 9_000) if fault is endless else drip(head, b"x", 0.05)
    end, journal, _ = walk("http://a.example.com/", in_turn(sender, answer(END)), deadline=Deadline.after(5))
    assert (end.status, journal.hops[0].wire_bytes, journal.hops[0].body) == (200, 0, "none")


def test_fetch_blocks_the_downgrade_unless_the_profile_allows_it_m123(walk):
    hops = chain(redirect("http://a.example.com/"), END)
    end, journal, requests = walk("https://a.example.com/", hops)
    assert (type(end), end.facts, len(requests)) == (RedirectBlocked, {"reason": "downgrade"}, 1)
    assert [hop.sent for hop in journal.hops] == ["sent", "not_sent"]
    hops = chain(redirect("http://a.example.com/"), END)
    assert walk("https://a.example.com/", hops, limits=replace(LIMITS, downgrade_allowed=True))[0].status == 200


@pytest.mark.parametrize(
    ("location", "follows"),
    [
        ("/b", True),
        ("http://a.example.com/b", True),
        ("http://b.example.com/", False),
        ("https://a.example.com/", False),
    ],
)
def test_fetch_stays_on_the_target_when_the_profile_says_so(walk, location, follows):
    limits = replace(LIMITS, redirect_scope="same_target")
    end, _, requests = walk("http://a.example.com/", chain(redirect(location), END), limits=limits)
    assert (len(requests), getattr(end, "facts", None)) == ((2, None) if follows else (1, {"reason": "scope"}))


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_fetch_changes_the_method_as_browsers_do_when_a_post_is_redirected(walk, status, method):
    ask = Ask(method="POST", headers=(("Content-Type", "text/plain"), ("X-Key", "k")), body=b"a=b")
    _, journal, requests = walk("http://a.example.com/", chain(redirect("/b", status), END), ask=ask)
    assert requests[1].startswith(f"{method} /b ".encode())
    assert requests[1].endswith(b"a=b") == (method == "POST")
    assert (b"Content-Type" in requests[1], b"X-Key" in requests[1]) == (method == "POST", True)
    assert [hop.method for hop in journal.hops] == ["POST", method]


def test_fetch_keeps_personal_headers_home_when_a_redirect_leaves_the_origin(walk):
    ask = Ask(headers=(("Authorization", "Bearer x"), ("X-Key", "k"), ("Accept", "text/html")))
    _, _, requests = walk("https://a.example.com/", chain(redirect("https://b.example.com/"), END), ask=ask)
    assert b"Bearer x" in requests[0]
    assert b"Bearer" not in requests[1]
    assert b"X-Key" not in requests[1]
    assert b"Accept: text/html" in requests[1]


def test_fetch_blocks_when_a_redirect_names_several_targets(walk):
    end, _, _ = walk("http://a.example.com/", chain(redirect("/b", 302, "Location: /c"), END))
    assert (type(end), end.facts) == (RedirectBlocked, {"reason": "multiple_locations"})


@pytest.mark.parametrize(
    ("status", "fields", "error", "facts"),
    [
        ("404 Not Found", [], HttpError, {}),
        ("500 Oh", [], HttpError, {}),
        ("300 Choices", ["Location: /b"], HttpError, {}),
        ("304 Not Modified", [], HttpError, {}),
        ("429 Slow", [], RateLimited, {"wait_seconds": None}),
        ("429 Slow", ["Retry-After: 7"], RateLimited, {"wait_seconds": 7}),
        ("429 Slow", ["Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"], RateLimited, {"wait_seconds": 0}),
        ("503 Down", ["Retry-After: soon"], RateLimited, {"wait_seconds": None}),
        ("503 Down", [f"Retry-After: {'9' * 5_000}"], RateLimited, {"wait_seconds": 86_400}),
        ("503 Down", [], SourceUnavailable, {}),
        ("502 Bad", [], SourceUnavailable, {}),
        ("504 Late", ["Retry-After: 7"], SourceUnavailable, {}),
    ],
)
def test_fetch_fails_when_the_status_is_outside_2xx(walk, status, fields, error, facts):
    end, journal, _ = walk("http://a.example.com/", answer(page(b"x", *fields, status=status)))
    assert type(end) is error
    assert end.facts == {"host": "a.example.com", "status": int(status[:3]), **facts}
    assert (journal.hops[0].code, journal.hops[0].sent) == (error.code, "sent")


def test_fetch_gives_the_answer_when_any_status_is_normal(walk):
    limits = replace(LIMITS, non_2xx="normal")
    end, _, _ = walk(
        "http://a.example.com/",
        answer(page(gzip.compress(b"gone"), "Content-Encoding: gzip", status="404 N")),
        limits=limits,
    )
    assert (end.status, end.body, end.wire_bytes) == (404, b"gone", len(gzip.compress(b"gone")))


def test_fetch_tells_its_progress_when_it_is_asked_to(walk):
    told = []
    walk(
        "http://a.example.com/p?q", chain(redirect("/b"), END), progress=lambda step, facts: told.append((step, facts))
    )
    host = {"host": "a.example.com"}
    assert told == [("resolving", host), ("connecting", host)] * 2 + [("receiving", {**host, "bytes": 7})]


def test_fetch_times_out_when_redirects_drip_body_149(walk):
    given = next(row["input"] for row in cases("body", "timing") if row["id"] == "body-149")
    each_seconds = given["each_ms"] / 5_000  # a fifth of the row's times: the deadline spans all hops in either

    def slow(sock):
        if not peer_left(sock, each_seconds):
            sock.sendall(redirect("/again"))

    deadline = Deadline.after(given["deadline_ms"] / 5_000)
    end, journal, _ = walk(
        "http://a.example.com/", slow, deadline=deadline, limits=replace(LIMITS, redirects_max=given["hops"])
    )
    assert (type(end), journal.hops[-1].code) == (RequestTimeout, "request_timeout")
    assert 1 < len(journal.hops) <= given["hops"]


def test_fetch_times_out_when_dns_took_the_time_body_150(walk):
    given = next(row["input"] for row in cases("body", "timing") if row["id"] == "body-150")
    passed = [0.0]
    deadline = Deadline.after(given["deadline_ms"] / 1_000, clock=lambda: passed[0])

    def slow_dns():
        passed[0] += given["ms"] / 1_000

    end, journal, _ = walk("http://a.example.com/", hold_after(), deadline=deadline, names=Names(before=slow_dns))
    assert (type(end), journal.hops[0].sent) == (RequestTimeout, "sent")


def test_fetch_writes_the_hop_down_when_it_is_cancelled_m127(transport, tls):
    called_back, journal = threading.Event(), Journal()
    deadline = Deadline.after(30, cancelled=called_back.is_set)
    place = Destination.parse("http://a.example.com/")
    with internet(transport, hold_after(), tls(*NAMES)) as (found, plain, _), ThreadPoolExecutor(1) as pool:
        running = pool.submit(fetch, place, Ask(), LIMITS, found, deadline, journal)
        assert not plain.left.wait(0.2)
        called_back.set()
        with pytest.raises(Cancelled):
            running.result(5)
        assert plain.left.wait(1)
    assert [(hop.sent, hop.code) for hop in journal.hops] == [("sent", "cancelled")]


def test_fetch_writes_the_hop_down_when_the_callers_own_code_raises(transport, tls):
    def fails(step, _facts):
        if step == "receiving":
            raise KeyError(step)

    journal = Journal()
    with internet(transport, answer(END), tls(*NAMES)) as (found, _, _), pytest.raises(KeyError):
        fetch(Destination.parse("http://a.example.com/"), Ask(), LIMITS, found, Deadline.after(5), journal, fails)
    assert [(hop.sent, hop.code) for hop in journal.hops] == [("sent", None)]


def test_road_refuses_loopback_when_it_is_the_products_own(ca_file):
    own, journal = road(nameservers=("127.0.0.1",), nameserver_port=1, ca_file=ca_file), Journal()
    limits = replace(LIMITS, ports="any")
    with origin(answer(END)) as server:
        place = Destination.parse(f"http://127.0.0.1:{server.port}/")
        with pytest.raises(AddressRefused):
            fetch(place, Ask(), limits, own, Deadline.after(5), journal)
    assert server.connections == 0
