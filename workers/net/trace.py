"""The trace of one exchange: what was seen of it, readable also after it has raised."""

from dataclasses import dataclass, field

from schemas.receipt import Sent


@dataclass(slots=True, kw_only=True)
class Trace:
    """Filled in by the transport as it goes; `schemas.receipt.Hop` says what each field means."""

    peer: str | None = None
    sent: Sent = Sent.NOT_SENT
    attempts: int = 0
    status: int | None = None
    http_version: str | None = None
    content_type: str | None = None
    header_bytes: int = 0
    wire_bytes: int = 0
    decoded_bytes: int = 0
    body: str = "none"
    body_sha256: str | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
