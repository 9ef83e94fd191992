"""A run's receipts as WARC 1.1: what each request met, where it went, and the exact text where a receipt keeps it.

Of a receipt: one `metadata` record with its very bytes; one `metadata` record a hop, with the pinned address; and one
`conversion` record with the text, where it is kept. No `request` or `response` records: their bytes are not kept.
The ids and dates are the receipts' own, so that the same run gives the same file. Source: ISO 28500:2017.
"""

import json
from base64 import b32encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from typing import Any, BinaryIO
from uuid import UUID, uuid5

from warcio.warcwriter import WARCWriter

from schemas.chain import Chain, Link, statement
from schemas.receipt import canonical

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_EPOCH = "1970-01-01T00:00:00Z"  # of a receipt that says no time: it was altered, and is written as it is
# Source: ISO 28500:2017 section 5.14, the reasons why a body is not whole.
_TRUNCATED = {"over_limit": "length", "truncated": "disconnect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    kind: str
    id: UUID
    date: str
    content: bytes
    content_type: str
    uri: str = ""
    more: dict[str, str] = field(default_factory=dict)


def write_warc(chain: Chain, out: BinaryIO) -> None:
    """Write the chain's receipts. Order: as they were linked, each with its hops and its text behind it."""
    writer = WARCWriter(out, gzip=False, warc_version="1.1")
    for part in _parts(chain):
        headers = {
            "WARC-Record-ID": f"<urn:uuid:{part.id}>",
            "WARC-Date": part.date,
            "WARC-Block-Digest": _digest(part.content),
            "WARC-Payload-Digest": _digest(part.content),
            **part.more,
        }
        record = writer.create_warc_record(
            part.uri,
            part.kind,
            payload=BytesIO(part.content),
            length=len(part.content),
            warc_content_type=part.content_type,
            warc_headers_dict=headers,
        )
        writer.write_record(record)


def _parts(chain: Chain) -> Iterator[_Part]:
    receipts = [(link, _body(link)) for link in chain.links]
    first = _date(receipts[0][1].get("admitted_at")) if receipts else _EPOCH
    info = f"software: outrider\r\nformat: WARC File Format 1.1\r\ndescription: {statement(chain)}\r\n"
    origin = uuid5(UUID(int=0), f"{chain.project}/{chain.run}")
    yield _Part(kind="warcinfo", id=origin, date=first, content=info.encode(), content_type="application/warc-fields")
    for link, body in receipts:
        yield from _of_receipt(link, body)


def _of_receipt(link: Link, body: dict[str, Any]) -> Iterator[_Part]:
    operation = UUID(link.operation_id)
    hops, value = body.get("hops") or [], body.get("value") or {}
    date = _date(body.get("admitted_at"))
    uri = value.get("source_url") or next((hop["url"] for hop in hops if "url" in hop), "")
    yield _Part(
        kind="metadata", id=operation, date=date, content=link.body.encode(), content_type=_JSON, uri=uri
    )  # fmt: skip
    about = {"WARC-Concurrent-To": f"<urn:uuid:{operation}>"}
    for hop in hops:
        yield _of_hop(operation, hop, about)
    if "exact_text" in value:
        cut = value["acquisition_metadata"]["text_truncated"]
        yield _Part(
            kind="conversion",
            id=uuid5(operation, "text"),
            date=_date(value["acquired_at"]),
            content=value["exact_text"].encode(),
            content_type=_TEXT,
            uri=value["source_url"],
            more={"WARC-Refers-To": f"<urn:uuid:{operation}>"} | ({"WARC-Truncated": "length"} if cut else {}),
        )


def _of_hop(operation: UUID, hop: dict[str, Any], about: dict[str, str]) -> _Part:
    pinned = {"WARC-IP-Address": hop["peer"]} if "peer" in hop else {}
    reason = _TRUNCATED.get(hop.get("body", ""))
    late = {"WARC-Truncated": "time"} if hop.get("code") == "request_timeout" else {}
    return _Part(
        kind="metadata",
        id=uuid5(operation, f"hop {hop['number']}"),
        date=_date(hop["started_at"]),
        content=canonical(hop).encode(),
        content_type=_JSON,
        uri=hop.get("url", ""),
        more=about | pinned | (late or ({"WARC-Truncated": reason} if reason else {})),
    )


def _body(link: Link) -> dict[str, Any]:
    """The receipt, or nothing where its bytes were altered past reading: `verify` names such a one."""
    try:
        body = json.loads(link.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _date(instant: object) -> str:
    """A receipt's instant in WARC's spelling."""
    return instant.replace("+00:00", "Z") if isinstance(instant, str) else _EPOCH


def _digest(content: bytes) -> str:
    return f"sha256:{b32encode(sha256(content).digest()).decode()}"
