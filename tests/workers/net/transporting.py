"""What the transport's tests share: pins on loopback, limits from the cases' caps, one exchange in one line."""

import base64
import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.limits import Limits
from schemas.pin import Pin
from schemas.profiles import WEB_FETCH
from schemas.reply import Ask, Reply
from workers.net.trace import Trace
from workers.net.transport import Transport

CASES = Path("tests/data/cases")

LIMITS = replace(WEB_FETCH.limits, ports="any")


def cases(kind: str, *subs: str | None) -> list[dict]:
    """The rows of one kind, those of these subjects alone."""
    rows = [json.loads(line) for line in (CASES / f"{kind}.jsonl").read_text().splitlines()]
    return [row for row in rows if row.get("sub") in subs]


def wire_of(row: dict) -> bytes:
    """The bytes that a row's server sends."""
    given = row["input"]
    if "wire_b64" in given:
        return base64.b64decode(given["wire_b64"])
    return zlib.decompress(base64.b64decode(given["wire_zlib_b64"]))


def limits_of(row: dict) -> Limits:
    """The limits that a row assumes."""
    caps = row["input"]["caps"]
    return replace(
        LIMITS,
        header_bytes=caps["header_bytes"],
        header_lines=caps["header_lines"],
        wire_bytes=caps["wire"],
        decoded_bytes=caps["decoded"],
        gzip_members=caps["gzip_members"],
    )


def pin_of(place: Destination, *addresses: str) -> Pin:
    """A pin that no resolver made: this is the seam through which the tests reach loopback."""
    found = tuple(ip_address(address) for address in addresses or ("127.0.0.1",))
    return Pin(host=place.host, port=place.port, addresses=found, resolved_at=datetime.now(UTC))


def exchange(
    transport: Transport,
    url: str,
    *addresses: str,
    ask: Ask | None = None,
    limits: Limits = LIMITS,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> Reply:
    """One exchange with loopback."""
    place = Destination.parse(url)
    return transport.exchange(
        place,
        pin_of(place, *addresses),
        ask or Ask(),
        limits=limits,
        deadline=deadline or Deadline.after(10),
        trace=trace or Trace(),
    )
