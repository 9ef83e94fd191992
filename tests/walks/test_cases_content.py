"""Every charset and content_kind case through a worker: what bytes and header together are read as (M111, M120)."""

import base64
from typing import Any

import pytest

from ops.lab.control import LabControl
from tests.cases import cases
from tests.fleet import Fleet
from tests.walks.crowd import Seen, see_all

CHARSETS = [param for param in cases("body") if param.values[0].get("sub") == "charset"]
KINDS = [param for param in cases("body") if param.values[0].get("sub") == "content_kind"]

# Where a row leaves the choice, ours: RFC 8259 says that JSON is UTF-8, and these bytes are.
CHARSET_CHOICES = {"body-099": "utf-8"}
# Kinds that are read, in our words; Markdown is text to the cases.
READ = {"html": "html", "text": "text", "json": "json"}
KIND_CHOICES = {"body-120": "markdown"}
# Several rows hold a title alone. Only a page with words has a Document in its receipt, so each gets some.
WORDS = "<p>Some words that can be read.</p>"


def host_of(row: dict[str, Any]) -> str:
    return f"{row['id']}.case.example"


def charset_of(row: dict[str, Any]) -> str:
    return CHARSET_CHOICES.get(row["id"], row["expect"] or row.get("fallback"))


def body_of(row: dict[str, Any]) -> bytes:
    body = base64.b64decode(row["input"]["body_b64"])
    if row["sub"] == "content_kind" or "json" in row["input"]["content_type"]:
        return body
    return body + WORDS.encode(charset_of(row) if charset_of(row).startswith("utf-16") else "ascii")


def wire_of(row: dict[str, Any]) -> bytes:
    body, kind = body_of(row), row["input"]["content_type"]
    fields = [f"Content-Type: {kind}"] if kind else []
    head = ["HTTP/1.1 200 OK", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode() + body


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> dict[str, Seen]:
    """All cases at once."""
    whole_lab.reset()
    rows = [param.values[0] for param in (*CHARSETS, *KINDS)]
    for row in rows:
        whole_lab.wire(host_of(row), wire_of(row))
    return see_all(fleet, [(row["id"], f"https://{host_of(row)}/") for row in rows])


@pytest.mark.parametrize("row", CHARSETS)
def test_call_agrees_with_the_charset_case(answers: dict[str, Seen], row: dict[str, Any]) -> None:
    seen = answers[row["id"]]
    if row["expect"] == "replacement":
        assert (seen.code, seen.facts) == ("unsupported_content_type", {"charset": "replacement"})
    else:
        (document,) = seen.receipt["document"]
        assert document["charset"] == charset_of(row), row["why"]
        value = seen.envelope["value"]
        assert "\ufffd" not in value["title"] + value["content"]


@pytest.mark.parametrize("row", KINDS)
def test_call_agrees_with_the_case_of_kinds(answers: dict[str, Seen], row: dict[str, Any]) -> None:
    seen = answers[row["id"]]
    if row["expect"] in READ:
        (document,) = seen.receipt["document"]
        assert document["kind"] == KIND_CHOICES.get(row["id"], READ[row["expect"]]), row["why"]
    else:
        assert (seen.outcome, seen.code) == ("failed", "unsupported_content_type")
        assert seen.facts["kind"] == row["expect"], row["why"]
        assert seen.envelope["value"] is None
