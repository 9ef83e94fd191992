"""Pins: proof that a host was at these addresses, all judged public, now."""

from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Where a host was, when every one of its addresses had been judged public. Only `resolve.pin` makes one.

    Shape: `host` is spelled as in the destination's href (a trailing dot included); `addresses` is never empty, holds
    no address twice, and keeps the resolver's order within a family, IPv6 first. `resolved_at` is UTC.
    Source: RFC 6724 section 2.1 for IPv6 first.
    """

    host: str
    port: int
    addresses: tuple[IPv4Address | IPv6Address, ...]
    resolved_at: datetime


@dataclass(slots=True, kw_only=True)
class Lookup:
    """What was learned about a host on the way to its pin: filled in as it goes, readable also after a refusal.

    Shape: `dns` maps "A" and "AAAA" (or "literal" alone) to an answer code: "NOERROR", "NXDOMAIN", "SERVFAIL",
    "timeout", "malformed", "truncated", "unreachable", "cname_chain", "too_many_answers", "not_asked", "unfinished";
    `addresses` are all answers in the order of the pin; `verdicts` maps each refused one to the registry's reason;
    `cname` is the chain after the asked name.
    """

    dns: dict[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    verdicts: dict[str, str] = field(default_factory=dict)
    cname: tuple[str, ...] = ()
