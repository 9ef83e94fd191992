"""What a client reads: values and errors as structure and as the same in text, and nothing of where a call went."""

import json
import tomllib
from pathlib import Path

from broker.gateway import render
from broker.gateway.offers import own_offers
from broker.gateway.server import VERSION
from schemas.envelope import Envelope, ErrorOut, ReceiptOut
from schemas.errors import AgentNotPermitted, HttpError

OFFER = own_offers()["web_fetch"]
HOME = Path(__file__).resolve().parents[3]


def test_completed_call_is_its_value_and_where_its_account_lies():
    receipt = ReceiptOut(id="op-1", sent="sent", digest="sha-256=:x:")
    value = {"content": "Grüße", "n": 1}
    shown = render.result(
        Envelope(outcome="completed", tool="t", operation="op-1", value=value, receipt=receipt), OFFER
    )
    assert (shown.structured_content, shown.is_error) == (value, False)
    assert shown.content[0].text == '{"content":"Grüße","n":1}'
    told = {"outcome": "completed", "operation": "op-1", "replayed": False, "receipt": receipt.model_dump()}
    assert shown.meta == {"outrider/operation": told}


def test_every_other_end_is_an_error_with_its_code_and_its_hint():
    for outcome in ("refused", "failed", "cancelled", "unknown"):
        error = HttpError("The site answered 404.", status=404)
        shown = render.result(Envelope(outcome=outcome, tool="t", error=ErrorOut.of(error)), OFFER)
        told = shown.structured_content["error"]
        assert (shown.is_error, told["code"], told["facts"]) == (True, "http_error", {"status": 404})
        assert {"code", "message", "retryable", "hint", "facts"} == set(told)
        assert json.loads(shown.content[0].text) == shown.structured_content
        assert shown.meta["outrider/operation"]["outcome"] == outcome


def test_refusal_of_our_own_says_that_nothing_was_accepted():
    envelope = render.refusal("t", AgentNotPermitted("No."))
    assert (envelope.outcome, envelope.operation, envelope.receipt) == ("refused", None, None)


def test_stage_is_told_without_its_host():
    facts = {"host": "secret.example", "bytes": 12_345}
    assert render.stage_words("receiving", facts) == "receiving, 12,345 bytes"
    assert render.stage_words("resolving", {"host": "secret.example"}) == "resolving"


def test_version_is_the_package_s():
    assert tomllib.loads((HOME / "pyproject.toml").read_text())["project"]["version"] == VERSION
