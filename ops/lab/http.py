"""One HTTP/1.1 exchange as the lab's origins see it: the request read, the reply to be played."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Options = Mapping[str, Any]

# How a connection ends after the reply: `cut` is FIN without TLS's goodbye, `hold` never ends it.
CLOSES = frozenset({"keep", "fin", "rst", "cut", "hold"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. `turn` counts the requests of its site, from 0; `host` has no port and no last dot."""

    scheme: str
    host: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    turn: int = 0

    def header(self, name: str) -> str:
        """The values of one header, joined by commas; empty when absent."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)

    def parts(self) -> list[str]:
        """The path between its slashes: `/ms/200?x` gives `["ms", "200"]`."""
        return [part for part in self.target.partition("?")[0].split("/") if part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The bytes to send, at once or as they come, and how the connection ends."""

    wire: bytes | AsyncIterator[bytes]
    close: str = "keep"


Responder = Callable[[Request], Reply]
Behaviour = Callable[[Options], Responder]


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Status line and header block, blank line included."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [
        f"HTTP/1.1 {status} {phrase}",
        "Server: outrider-lab",
        *(f"{key}: {value}" for key, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def message(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    """A whole, honestly framed response."""
    return head(status, {**headers, "Content-Length": str(len(body))}) + body


def text(words: str, *, status: int = 200, kind: str = "text/plain; charset=utf-8") -> bytes:
    """A whole response of plain words."""
    return message(status, {"Content-Type": kind}, words.encode())


def html(title: str, *paragraphs: str) -> bytes:
    """A small honest page."""
    body = "".join(f"<p>{one}</p>\n" for one in paragraphs)
    page = f"<!doctype html>\n<html lang=en><head><title>{title}</title></head>\n<body><main><h1>{title}</h1>\n{body}"
    return text(f"{page}</main></body></html>\n", kind="text/html; charset=utf-8")


def read(buffer: bytes, scheme: str) -> tuple[Request, bytes] | None:
    """The first request in `buffer` and the bytes after it; None while it is not whole.

    Raises: ValueError when it is no request.
    """
    top, blank, rest = buffer.partition(b"\r\n\r\n")
    if not blank:
        return None
    first, *lines = top.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = tuple((key.strip(), value.strip()) for key, _, value in pairs)
    sizes = [int(value) for key, value in headers if key.lower() == "content-length"]
    length = sizes[0] if sizes else 0
    if len(rest) < length:
        return None
    named = next((value for key, value in headers if key.lower() == "host"), "")
    host = named.rpartition(":")[0] if not named.endswith("]") and ":" in named else named
    request = Request(
        scheme=scheme,
        host=host.rstrip(".").lower(),
        method=method,
        target=target,
        headers=headers,
        body=rest[:length],
    )
    return request, rest[length:]
