"""The truth fetch's own profile on real sockets: what is refused, followed, bounded, and how it is told (M46-M59)."""

import json
from typing import Any
from uuid import uuid4

import pytest

from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from ops.lab.http import head, message
from tests.fleet import Fleet
from tests.truth_calls import Worker, code_of, find, launched, value_of

TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def send(fleet: Fleet, lab: LabControl, url: str) -> tuple[Worker, Any]:
    """A run of its own that fetches this page."""
    worker = launched(fleet)
    find(lab, url)
    [hit] = worker.hits()
    return worker, worker.send("fetch", hit_id=hit["hit_id"])


def fetched(fleet: Fleet, lab: LabControl, url: str) -> dict[str, Any]:
    """What the fetch gives."""
    worker, handle = send(fleet, lab, url)
    return worker.fleet.reply(handle, 90)


def host(stem: str) -> str:
    """A host of its own."""
    return f"{stem}-{uuid4().hex[:6]}.example"


def egress(fleet: Fleet, envelope: dict[str, Any]) -> bool:
    """What the receipt says of whether any byte left."""
    stored = read_receipt(fleet.ledger, envelope["receipt"]["id"])
    assert stored is not None
    return bool(json.loads(stored.body)["external_egress"])


@pytest.mark.parametrize(
    ("url", "code", "sent"),
    [
        pytest.param("https://private.example/", "blocked_address", "not_sent", id="M49-private"),
        pytest.param("https://mixed.example/", "blocked_address", "not_sent", id="M49-mixed"),
        pytest.param("https://mixedfamilies.example/", "blocked_address", "not_sent", id="M49-mixed-families"),
        pytest.param("https://metadata.example/", "blocked_address", "not_sent", id="M49-link-local"),
        pytest.param("https://mapped.example/", "blocked_address", "not_sent", id="M50-mapped"),
        pytest.param("https://dns64.example/", "blocked_address", "not_sent", id="M50-transition"),
        pytest.param("https://rebind-private.example/", "blocked_address", "not_sent", id="M51-rebinding"),
        pytest.param("https://wrongname.example/", "tls_error", "not_sent", id="M52-other-certificate"),
        pytest.param("https://toprivate.example/", "redirect_blocked", "sent", id="M49-redirect"),
        pytest.param("https://tometadata.example/", "redirect_blocked", "sent", id="M49-redirect-by-name"),
        pytest.param("https://downgrade.example/", "redirect_blocked", "sent", id="C4-downgrade"),
        pytest.param("https://loop.example/", "redirect_loop", "sent", id="M55-loop"),
        pytest.param("https://nolocation.example/", "redirect_blocked", "sent", id="M55-no-location"),
        pytest.param("https://redirect.example/6", "redirect_limit", "sent", id="M54-sixth"),
        pytest.param("https://notfound.example/", "http_error", "sent", id="M69-404"),
        pytest.param("https://error.example/", "http_error", "sent", id="M69-500"),
        pytest.param("https://pdf.example/", "unsupported_content_type", "sent", id="M70-pdf"),
        pytest.param("https://empty.example/", "empty_source", "sent", id="M70-empty"),
        pytest.param("https://huge.example/", "response_too_large", "sent", id="M58-3-MB"),
        pytest.param("https://bomb.example/", "unsupported_content_encoding", "sent", id="M59-unasked-gzip"),
        pytest.param("https://truncated.example/length", "truncated_body", "sent", id="X6-cut"),
    ],
)
def test_fetch_ends_typed_and_stays_so(fleet: Fleet, lab: LabControl, url: str, code: str, sent: str) -> None:
    """M66, M67: a stored failure; a name that was asked is egress, whatever DNS said."""
    envelope = fetched(fleet, lab, url)
    assert (envelope["outcome"], code_of(envelope), envelope["receipt"]["sent"]) == ("failed", code, sent)
    assert egress(fleet, envelope) is True


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("ftp://good.example/", id="M46-ftp"),
        pytest.param("file:///etc/passwd", id="M46-file"),
        pytest.param("https://user:pw@good.example/", id="M47-credentials"),
        pytest.param("https://localhost/", id="M48-localhost"),
        pytest.param("https://x.localhost./", id="M48-localhost-dot"),
        pytest.param("https://printer.local/", id="M48-local"),
        pytest.param("https://db.internal/", id="M48-internal"),
        pytest.param("https://nas.home/", id="M48-home"),
        pytest.param("https://router.lan/", id="M48-lan"),
        pytest.param("https://[::ffff:127.0.0.1]/", id="M50-mapped"),
        pytest.param("https://[64:ff9b::7f00:1]/", id="M50-nat64"),
        pytest.param("https://[2002:7f00:1::]/", id="M50-6to4"),
        pytest.param("https://good.example:8443/", id="M53-https-8443"),
        pytest.param("https://good.example:80/", id="M53-https-80"),
        pytest.param("http://127.0.0.1/", id="M49-literal"),
    ],
)
def test_redirect_is_judged_as_the_first_place_was(fleet: Fleet, lab: LabControl, location: str) -> None:
    """M46-M50, M53: each hop; the refused one asks no name and opens no socket."""
    name = host("redirect")
    lab.site(name, site="redirect", to=location)
    envelope = fetched(fleet, lab, f"https://{name}/")
    assert (envelope["outcome"], code_of(envelope)) == ("failed", "redirect_blocked")
    assert {query["name"].rstrip(".") for query in lab.queries()} <= {name, "html.duckduckgo.com"}


def test_byte_that_never_left_is_told_apart_from_one_that_did(fleet: Fleet, lab: LabControl) -> None:
    """M67: an address in writing that nobody answers: no name was asked, no byte left."""
    envelope = fetched(fleet, lab, "https://93.184.215.105/")
    assert (envelope["outcome"], code_of(envelope), envelope["receipt"]["sent"]) == (
        "failed",
        "network_error",
        "not_sent",
    )
    assert egress(fleet, envelope) is False


def test_fifth_redirect_is_followed_and_every_place_is_told(fleet: Fleet, lab: LabControl) -> None:
    """M54, M60"""
    value = value_of(fetched(fleet, lab, "https://redirect.example/5"))
    assert value["redirect_chain"] == [f"https://redirect.example/{left}" for left in (5, 4, 3, 2, 1, 0)]
    assert (value["requested_url"], value["source_url"]) == (value["redirect_chain"][0], value["redirect_chain"][-1])


def test_pinned_fetch_keeps_the_host_s_name_and_asks_for_identity(fleet: Fleet, lab: LabControl) -> None:
    """M51, M52, M59: one lookup a family, the name in the Host header, no coding asked for."""
    value = value_of(fetched(fleet, lab, "https://echo.example/"))
    headers = {name.lower(): text for name, text in json.loads(value["exact_text"])["headers"]}
    assert (headers["host"], headers["accept-encoding"]) == ("echo.example", "identity")
    assert sorted(query["type"] for query in lab.queries("echo.example")) == ["A", "AAAA"]


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize(
    ("size", "code"),
    [(524_287, None), (524_288, None), (524_289, "response_too_large")],
    ids=["under", "at", "over"],
)
def test_response_is_bounded_at_512_kib(
    fleet: Fleet, lab: LabControl, size: int, code: str | None, framing: str
) -> None:
    """M58: by Content-Length and by what came."""
    name, body = host("sized"), b"word " * (size // 5) + b"x" * (size % 5)
    chunks = head(200, TEXT | {"Transfer-Encoding": "chunked"}) + f"{size:x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    lab.wire(name, message(200, TEXT, body) if framing == "length" else chunks)
    envelope = fetched(fleet, lab, f"https://{name}/")
    assert (envelope["error"] or {}).get("code") == code
    if code is None:
        assert envelope["value"]["acquisition_metadata"]["extracted_text_bytes"] == size


@pytest.mark.parametrize(
    ("coding", "code"),
    [
        *[pytest.param(name, "unsupported_content_encoding", id=name) for name in ("gzip", "br", "deflate", "zstd")],
        pytest.param("identity, gzip", "unsupported_content_encoding", id="identity-then-gzip"),
        pytest.param("identity", None, id="identity"),
    ],
)
def test_coding_other_than_identity_is_refused(fleet: Fleet, lab: LabControl, coding: str, code: str | None) -> None:
    """M59"""
    name = host("coded")
    lab.wire(name, message(200, TEXT | {"Content-Encoding": coding}, b"Plain words, whatever the header says."))
    envelope = fetched(fleet, lab, f"https://{name}/")
    assert (envelope["error"] or {}).get("code") == code


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("application/xml", b"<?xml version='1.0'?><a>Feed words</a>", "Feed words"),
        ("text/csv", b"a,b\nmoon,basalt\n", "moon,basalt"),
        ("application/json", b'{"moon": "basalt"}', "basalt"),
        ("text/markdown", b"# Moon\n\nBasalt.", "Basalt."),
    ],
)
def test_textual_media_are_read(fleet: Fleet, lab: LabControl, kind: str, body: bytes, words: str) -> None:
    """M70, C6: everything that is text."""
    name = host("media")
    lab.wire(name, message(200, {"Content-Type": kind}, body))
    value = value_of(fetched(fleet, lab, f"https://{name}/"))
    assert words in value["exact_text"]
    assert value["media_type"] == kind


def test_slow_sites_end_at_ten_seconds_a_request_and_twenty_in_all(fleet: Fleet, lab: LabControl) -> None:
    """M56, M57: a stall at TLS, at the headers, in the body; and redirects that each take their time."""
    slow = host("slow")
    late = {"delay_ms": 7_000, "status": 302, "headers": {"Location": f"https://{slow}/again"}}
    lab.site(slow, site="wire", replies=[late])
    urls = [f"https://{name}.example/" for name in ("silent", "mute", "drip")] + [f"https://{slow}/"]
    sent = [send(fleet, lab, url) for url in urls]
    envelopes = [worker.fleet.reply(handle, 90) for worker, handle in sent]
    assert [code_of(one) for one in envelopes] == ["request_timeout"] * 4
    times = [json.loads(read_receipt(fleet.ledger, one["receipt"]["id"]).body)["milliseconds"] for one in envelopes]
    assert all(time < 20_000 for time in times[:3])
    assert times[3] >= 19_000  # it outlived two requests of seven seconds, and the third was cut by the whole
