"""web_fetch from the message to the receipt, in the private internet: what each kind of page and refusal gives."""

import json
from hashlib import sha256
from typing import Any

import pytest

from broker.ledger.operations import find_ended
from broker.ledger.overview import read_operation
from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from schemas.receipt import canonical, digest_of
from tests.fleet import Fleet


def receipt_of(fleet: Fleet, envelope: dict[str, Any]) -> dict[str, Any]:
    stored = read_receipt(fleet.ledger, envelope["receipt"]["id"])
    assert stored is not None
    assert stored.digest == envelope["receipt"]["digest"] == digest_of(stored.body)
    body = json.loads(stored.body)
    assert canonical(body) == stored.body
    return body


def test_page_is_read_and_its_receipt_says_from_where(fleet: Fleet, lab: LabControl) -> None:
    """M110-M114, M130, X7: the whole envelope of a completed call, and its one receipt."""
    envelope = fleet.fetch("https://good.example/")
    assert envelope["error"] is None
    assert (envelope["outcome"], envelope["replayed"]) == ("completed", False)
    value = envelope["value"]
    assert value["contentHash"] == sha256(value["content"].encode()).hexdigest()
    assert (value["finalUrl"], value["nextOffset"], value["truncated"]) == ("https://good.example/", None, False)
    assert value["budget"] == {"step": 39, "run": 199}
    body = receipt_of(fleet, envelope)
    (hop,) = body["hops"]
    assert (hop["origin"], hop["status"], hop["sent"], hop["body"]) == ("https://good.example", 200, "sent", "complete")
    assert hop["peer"] in hop["addresses"]
    assert body["extractor"].startswith("outrider/")
    assert envelope["receipt"]["sent"] == "sent"
    assert sum(lab.hits("good.example").values()) == 1
    assert read_operation(fleet.ledger, envelope["operation"]).state == "completed"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        pytest.param("http://127.0.0.1/", "blocked_address", id="M128-loopback"),
        pytest.param("http://[::ffff:10.0.0.1]/", "blocked_address", id="M128-mapped"),
        pytest.param("http://169.254.169.254/latest/", "blocked_address", id="M128-metadata"),
        pytest.param("http://168.63.129.16/", "blocked_address", id="M204-wireserver"),
        pytest.param("http://localhost./", "blocked_address", id="M48-localhost-dot"),
        pytest.param("https://good.example:8443/", "unsupported_port", id="M105-port"),
        pytest.param("http://good.example:443/", "unsupported_port", id="M53-C5-other-scheme-s-port"),
        pytest.param("https://u:p@good.example/", "credentials_in_url", id="M105-credentials"),
        pytest.param("https://good.example/?X-Amz-Signature=a", "secret_in_url", id="M105-signature"),
        pytest.param("https://good.example/?token=a", "secret_in_url", id="M105-token"),
        pytest.param("ftp://good.example/", "unsupported_scheme", id="M104-scheme"),
        pytest.param("https://good.example/\u0000", "invalid_url", id="M104-control"),
        pytest.param("nonsense", "invalid_url", id="M104-no-url"),
    ],
)
def test_call_is_refused_before_anything_leaves(fleet: Fleet, lab: LabControl, url: str, code: str) -> None:
    """M148: nothing is reserved, no name is asked, no packet leaves."""
    envelope = fleet.fetch(url)
    assert (envelope["outcome"], envelope["error"]["code"]) == ("refused", code)
    assert (envelope["operation"], envelope["receipt"]) == (None, None)
    assert lab.queries() == []


@pytest.mark.parametrize(
    ("url", "code", "sent"),
    [
        pytest.param("https://private.example/", "blocked_address", "not_sent", id="M128-private-answer"),
        pytest.param("https://mixed.example/", "blocked_address", "not_sent", id="M49-mixed-answer"),
        pytest.param("https://mixedfamilies.example/", "blocked_address", "not_sent", id="M49-mixed-families"),
        pytest.param("https://metadata.example/", "blocked_address", "not_sent", id="M128-metadata-answer"),
        pytest.param("https://mapped.example/", "blocked_address", "not_sent", id="M128-mapped-answer"),
        pytest.param("https://fakeip.example/", "blocked_address", "not_sent", id="X14-fake-ip"),
        pytest.param("https://nosuchname.example/", "dns_failure", "not_sent", id="M155-typo"),
        pytest.param("https://expired.example/", "tls_error", "not_sent", id="M129-expired"),
        pytest.param("https://wrongname.example/", "tls_error", "not_sent", id="M129-wrong-name"),
        pytest.param("https://selfsigned.example/", "tls_error", "not_sent", id="M129-self-signed"),
        pytest.param("https://unreachable.example/", "network_error", "not_sent", id="M155-unreachable"),
        pytest.param("https://notfound.example/", "http_error", "sent", id="C12-404"),
        pytest.param("https://error.example/", "http_error", "sent", id="C12-500"),
        pytest.param("https://busy.example/", "rate_limited", "sent", id="M155-429"),
        pytest.param("https://pdf.example/", "unsupported_content_type", "sent", id="M120-pdf"),
        pytest.param("https://empty.example/", "empty_source", "sent", id="M155-empty"),
        pytest.param("https://huge.example/", "response_too_large", "sent", id="M125-3-MB"),
        pytest.param("https://bomb.example/", "response_too_large", "sent", id="M125-bomb"),
        pytest.param("https://loop.example/", "redirect_loop", "sent", id="M122-loop"),
        pytest.param("https://redirect.example/5", "redirect_limit", "sent", id="M122-fifth"),
        pytest.param("https://toprivate.example/", "redirect_blocked", "sent", id="M129-to-private"),
        pytest.param("https://tometadata.example/", "redirect_blocked", "sent", id="M129-to-metadata"),
        pytest.param("https://downgrade.example/", "redirect_blocked", "sent", id="M123-C4-downgrade"),
        pytest.param("https://nolocation.example/", "redirect_blocked", "sent", id="M55-no-location"),
        pytest.param("https://truncated.example/length", "truncated_body", "sent", id="X6-length"),
        pytest.param("https://truncated.example/chunked", "truncated_body", "sent", id="X6-chunked"),
        pytest.param("https://truncated.example/gzip", "truncated_body", "sent", id="X6-gzip"),
        pytest.param("https://reset.example/", "truncated_body", "sent", id="X6-reset"),
        pytest.param("https://endlessheaders.example/", "headers_too_large", "sent", id="M126-endless"),
    ],
)
def test_call_fails_with_a_typed_end(fleet: Fleet, lab: LabControl, url: str, code: str, sent: str) -> None:
    """M155: each kind of failure has its code, counts as one reservation, and its receipt says what was sent."""
    context = fleet.context()
    envelope = fleet.fetch(url, context=context)
    assert (envelope["outcome"], envelope["error"]["code"]) == ("failed", code)
    assert envelope["receipt"]["sent"] == sent
    body = receipt_of(fleet, envelope)
    assert (body["state"], body["error"]["code"]) == ("failed", code)
    assert fleet.fetch("https://text.example/", context=context)["value"]["budget"]["step"] == 38
    assert lab.canaries() == []


def test_fourth_redirect_is_followed_and_counts_as_one_reservation(fleet: Fleet, lab: LabControl) -> None:
    """M122, M149, C3: four redirects are five requests and one reservation."""
    envelope = fleet.fetch("https://redirect.example/4")
    assert envelope["outcome"] == "completed"
    assert envelope["value"]["budget"]["step"] == 39
    assert len(receipt_of(fleet, envelope)["hops"]) == 5
    assert sum(lab.hits("redirect.example").values()) == 5


def test_cookie_of_a_redirect_is_not_replayed(fleet: Fleet, lab: LabControl) -> None:
    """M121"""
    assert "no cookies" in fleet.fetch("https://cookie.example/")["value"]["content"].lower()
    assert lab.hits("cookie.example")


@pytest.mark.parametrize("host", ["sjis.example", "sjis-meta.example"])
def test_shift_jis_page_is_read(fleet: Fleet, lab: LabControl, host: str) -> None:
    """M111: the header's label, or the meta element's."""
    del lab
    content = fleet.fetch(f"https://{host}/")["value"]["content"]
    assert any("\u3040" <= char <= "\u30ff" for char in content)
    assert "\ufffd" not in content


def test_long_page_is_paged_with_one_reservation_a_part(fleet: Fleet, lab: LabControl) -> None:
    """M113, M116: each part downloads again, costs one, and the parts join to the hashed text."""
    context, parts, more = fleet.context(), [], {}
    while True:
        value = fleet.fetch("https://long.example/", context=context, maxChars=32_000, **more)["value"]
        parts.append(value["content"])
        if value["nextOffset"] is None:
            break
        more = {"offset": value["nextOffset"], "expectedHash": value["contentHash"]}
    assert len(parts) > 1
    assert sha256("".join(parts).encode()).hexdigest() == value["contentHash"]
    assert value["budget"]["step"] == 40 - len(parts)
    assert sum(lab.hits("long.example").values()) == len(parts)


def test_changed_page_ends_a_continuation(fleet: Fleet, lab: LabControl) -> None:
    """M117"""
    del lab
    first = fleet.fetch("https://mutating.example/")["value"]
    second = fleet.fetch("https://mutating.example/", expectedHash=first["contentHash"])
    assert second["error"]["code"] == "changed_content"


def test_repeated_call_answers_from_the_ledger_and_sends_nothing(fleet: Fleet, lab: LabControl) -> None:
    """M151, X1: the same call again is one request; other arguments under its name are a conflict."""
    context = fleet.context(call=f"c-{fleet.project()}")
    first = fleet.fetch("https://counted.example/again", context=context)
    second = fleet.fetch("https://counted.example/again", context=context)
    other = fleet.fetch("https://counted.example/else", context=context)
    assert first["outcome"] == "completed"
    assert (second["replayed"], second["error"]["code"]) == (True, "reply_not_kept")
    assert second["receipt"] == first["receipt"]
    assert (other["outcome"], other["error"]["code"]) == ("refused", "call_conflict")
    assert len(lab.requests(host="counted.example")) == 1
    assert find_ended(fleet.ledger, "local", context["call"]).digest == first["receipt"]["digest"]
