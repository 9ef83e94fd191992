"""Every body and header case through a worker, over both schemes: the bytes that a site sends, and what comes of them.

M125, M126, X6. The cases assume smaller caps than the profile publishes, and any status as a normal end: what they say
under the profile is derived here, and their edges are cut again at the profile's own limits.
"""

import base64
import gzip
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from ops.lab.control import LabControl
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from tests.fleet import Fleet
from tests.walks.crowd import Seen, see_all

ROWS = [param for kind in ("body", "header") for param in cases(kind) if "sub" not in param.values[0]]
SCHEMES = ("http", "https")
LIMITS = WEB_FETCH.limits

# The cases' words in ours: the error's code with its reason, and the receipt's verdict on the body.
ENDS: dict[str, tuple[str, str | None]] = {
    "truncated": ("truncated_body", None),
    "truncated_headers": ("truncated_body", "headers"),
    "partial_content": ("truncated_body", "partial_content"),
    "unsupported_encoding": ("unsupported_content_encoding", "coding"),
    "protocol_error": ("network_error", "protocol"),
    "headers_too_large": ("headers_too_large", None),
    "too_large_wire": ("response_too_large", "wire"),
    "too_large_decoded": ("response_too_large", "decoded"),
}
CORRUPT = {"body-053": "corrupt", "body-060": "members"}  # decode_error is one word for two reasons
VERDICTS = {"complete", "close_delimited", "complete_trailing_garbage"}

# Where a row's policy leaves the choice, ours (decisions 0007 and 0008).
CHOICES = {"body-012": "too_large_wire", "hdr-007": "protocol_error"}
# What the profile's larger caps make of a row that lies just over the case's.
UNDER_THE_PROFILE = {"body-064": "complete", "body-066": "complete"}
# The profile calls a status outside 2xx a failure.
STATUSES = {"body-028": 304}


def host_of(row: dict[str, Any]) -> str:
    return f"{row['id']}.case.example"


def wire_of(row: dict[str, Any]) -> bytes:
    given = row["input"]
    if "wire_b64" in given:
        return base64.b64decode(given["wire_b64"])
    return zlib.decompress(base64.b64decode(given["wire_zlib_b64"]))


def replies(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The row's own bytes in the words of a zone file."""
    return [{key: row["input"][key] for key in ("wire_b64", "wire_zlib_b64", "close") if key in row["input"]}]


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> Iterator[dict[str, Seen]]:
    """All cases at once, by scheme and id."""
    whole_lab.reset()
    rows = [param.values[0] for param in ROWS]
    for row in rows:
        whole_lab.site(host_of(row), site="wire", replies=replies(row))
    urls = [(f"{scheme} {row['id']}", f"{scheme}://{host_of(row)}/") for row in rows for scheme in SCHEMES]
    yield see_all(fleet, urls)
    assert whole_lab.canaries() == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("row", ROWS)
def test_call_agrees_with_the_case_of_bytes(answers: dict[str, Seen], row: dict[str, Any], scheme: str) -> None:
    seen = answers[f"{scheme} {row['id']}"]
    (hop,) = seen.hops
    assert hop["sent"] == "sent"
    word = CHOICES.get(row["id"], UNDER_THE_PROFILE.get(row["id"], row["expect"]))
    if row["id"] in STATUSES:
        assert (seen.code, seen.facts["status"], hop["body"]) == ("http_error", STATUSES[row["id"]], "none")
    elif word in VERDICTS:
        assert hop["body"] == row.get("flag", word), row["why"]
        assert "code" not in hop
        assert hop["decoded_bytes"] == len(body_of(row))
    else:
        code, reason = ENDS.get(word) or ("unsupported_content_encoding", CORRUPT[row["id"]])
        assert (seen.outcome, seen.code) == ("failed", code), row["why"]
        assert reason in (None, seen.facts.get("reason"))
        assert hop["body"] not in VERDICTS
        assert "body_sha256" not in hop


def body_of(row: dict[str, Any]) -> bytes:
    """What a row's bytes hold: as long as it says, or for a row over its caps, what they unpack to."""
    if "decoded_len" in row:
        return b"?" * row["decoded_len"]
    head, _, body = wire_of(row).partition(b"\r\n\r\n")
    return gzip.decompress(body) if b"gzip" in head else body


@pytest.mark.parametrize("row", ROWS)
def test_whole_body_becomes_text_and_no_other_does(answers: dict[str, Seen], row: dict[str, Any]) -> None:
    """X6: a body is given when it was whole; whole ones without text, or of no textual kind, are failures too."""
    for scheme in SCHEMES:
        seen = answers[f"{scheme} {row['id']}"]
        whole = seen.hops[0]["body"] in VERDICTS
        if seen.outcome == "completed":
            assert whole
            assert seen.envelope["value"]["content"]
        else:
            assert seen.envelope["value"] is None
            assert not whole or seen.code in {"empty_source", "unsupported_content_type"}


def page(body: bytes, *fields: str) -> bytes:
    head = ["HTTP/1.1 200 OK", "Content-Type: text/plain", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode() + body


# M125 at the profile's limits: body-063 to 067 again. The fields of a head are charged apart.
EDGES = [
    pytest.param(page(b"a " * (LIMITS.wire_bytes // 2 - 1)), None, id="wire-under"),
    pytest.param(page(b"a " * (LIMITS.wire_bytes // 2)), None, id="wire-at"),
    pytest.param(page(b"a " * (LIMITS.wire_bytes // 2) + b"a"), "wire", id="wire-over"),
    pytest.param(
        page(gzip.compress(b"a " * (LIMITS.decoded_bytes // 2 - 1)), "Content-Encoding: gzip"), None, id="decoded-under"
    ),
    pytest.param(
        page(gzip.compress(b"a " * (LIMITS.decoded_bytes // 2)), "Content-Encoding: gzip"), None, id="decoded-at"
    ),
    pytest.param(
        page(gzip.compress(b"a " * (LIMITS.decoded_bytes // 2) + b"a"), "Content-Encoding: gzip"),
        "decoded",
        id="decoded-over",
    ),
]


@pytest.mark.parametrize(("wire", "reason"), EDGES)
def test_body_is_taken_up_to_the_published_bytes(
    fleet: Fleet, lab: LabControl, wire: bytes, reason: str | None
) -> None:
    """M125: 2 MB on the wire, 2 MB decoded."""
    lab.wire("edge.case.example", wire)
    envelope = fleet.fetch("https://edge.case.example/", maxChars=1_000)
    assert envelope["outcome"] == ("completed" if reason is None else "failed")
    if reason is None:
        assert envelope["value"]["sourceTruncated"] is True  # 400,000 characters are kept
    else:
        assert (envelope["error"]["code"], envelope["error"]["facts"]["reason"]) == ("response_too_large", reason)
