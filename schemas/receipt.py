"""Receipts: the one final account of an operation.

A web receipt keeps identifiers, times, states, sizes and digests (M154): origins and digests of URLs, never a path, a
query string or page text. Its bytes are RFC 8785 canonical JSON, so that its digest can be checked anywhere.
"""

from base64 import b64encode
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any

import rfc8785


class Sent(StrEnum):
    """Whether a request left this machine: the marker of the last hook before it would (X7)."""

    NOT_SENT = "not_sent"
    SENT = "sent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One exchange, written down before its outcome is returned or raised.

    Shape: `origin` is scheme://host[:port]; `url_sha256` is of the canonical href, and `url` is that href, for receipts
    that keep text; `dns` maps a family ("A", "AAAA",
    or "literal") to its answer code ("NOERROR", "SERVFAIL", "timeout", ...); `addresses` are all judged addresses in
    the resolver's order and `verdicts` the refused ones with the registry's reason; `peer` is the address that the
    socket was connected to. `content_type` is a known media type's name, its family's ("image/*"), or "other": the
    site's own words stay out. `body` is the completeness verdict: complete, close_delimited, truncated, over_limit,
    none, or complete_trailing_garbage (bytes followed a complete compressed stream).
    Unit: milliseconds, bytes. `started_at` is UTC ISO 8601.
    """

    number: int
    method: str
    origin: str
    url_sha256: str
    started_at: str
    url: str = ""
    dns: dict[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    verdicts: dict[str, str] = field(default_factory=dict)
    peer: str | None = None
    sent: Sent = Sent.NOT_SENT
    status: int | None = None
    http_version: str | None = None
    content_type: str | None = None
    header_bytes: int = 0
    wire_bytes: int = 0
    decoded_bytes: int = 0
    body: str = "none"
    body_sha256: str | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    code: str | None = None


@dataclass(slots=True)
class Journal:
    """The hops of one operation, in order: append-only, readable also after the walk has raised.

    Unit: `extractions` are the milliseconds of each extraction, also of one that failed.
    """

    hops: list[Hop] = field(default_factory=list)
    extractions: list[float] = field(default_factory=list)

    def write(self, hop: Hop) -> None:
        """Keep one more hop."""
        self.hops.append(hop)

    def sent(self) -> Sent:
        """SENT as soon as any hop's request left."""
        return Sent.SENT if any(hop.sent is Sent.SENT for hop in self.hops) else Sent.NOT_SENT


def canonical(body: dict[str, Any]) -> str:
    """The RFC 8785 form of a receipt. Numbers that are whole are written as integers, as the RFC says."""
    return rfc8785.dumps(body).decode()


def digest_of(body: str) -> str:
    """The RFC 9530 digest of a receipt's bytes: `sha-256=:BASE64:`."""
    return f"sha-256=:{b64encode(sha256(body.encode()).digest()).decode()}:"


def hop_fields(hop: Hop, *, with_url: bool = False) -> dict[str, Any]:
    """A hop as plain JSON, without the empty fields; its whole URL only where a receipt may keep it (M154)."""
    names = (name for name in Hop.__dataclass_fields__ if with_url or name != "url")
    filled = ((name, getattr(hop, name)) for name in names)
    return {name: value for name, value in filled if value not in (None, (), {}, "")}
