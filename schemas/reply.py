"""What a fetch sends to a place, with what came back from it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from schemas.destination import Destination

Method = Literal["GET", "POST"]

Completeness = Literal["complete", "complete_trailing_garbage", "close_delimited", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What we send, beside what every request of ours carries (host, user agent, accepted codings).

    Shape: `headers` are pairs of ASCII name and printable value; names that frame the message or name the host are
    refused by the transport.
    """

    method: Method = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, whole: a cut or oversized one is never a Reply but an error.

    Shape: `headers` are pairs of lower-case name and value in wire order, read as Latin-1, of the final response
    only; `content_type` joins repeated Content-Type headers with ", "; `body` is decoded; `completeness` is
    close_delimited where only the connection's end framed the body (nobody can know more), complete_trailing_garbage
    where bytes followed a complete compressed stream, none where the status or the profile takes no body.
    `retrieved_at` is UTC; `came_by` are the hrefs before this one, in order.
    Source: RFC 9110 section 6.4.1, RFC 9112 section 6.3.
    """

    place: Destination
    status: int
    http_version: str
    headers: tuple[tuple[str, str], ...]
    content_type: str
    body: bytes
    completeness: Completeness
    wire_bytes: int
    retrieved_at: datetime
    redirects: int = 0
    came_by: tuple[str, ...] = ()

    def url(self) -> str:
        """Where the text came from, with the fragment that a reader would land on."""
        return f"{self.place.href}#{self.place.fragment}" if self.place.fragment else self.place.href

    def values(self, name: str) -> list[str]:
        """All values of one header, in order. Shape: `name` in lower case."""
        return [value for key, value in self.headers if key == name]
