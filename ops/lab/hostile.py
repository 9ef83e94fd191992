"""The hostile sites of the private internet: bombs, drips, floods, early ends, and any bytes a test wants said."""

import asyncio
import base64
import gzip
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ops.lab.http import CLOSES, Behaviour, Options, Reply, Request, Responder, head, message

HTML = {"Content-Type": "text/html; charset=utf-8"}
MEBIBYTE = 1024 * 1024
HALF_PAGE = b"<!doctype html><title>Half</title><main><p>This page promises more than it will ever give.</p>"


def bomb(options: Options) -> Responder:
    """A gzip body of `mebibytes` (default 10,240) of zeros; a thousand times smaller on the wire."""
    count = int(options.get("mebibytes", 10_240))
    press = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = press.compress(bytes(MEBIBYTE)) + press.flush(zlib.Z_FULL_FLUSH)
    # After a full flush every further block of zeros packs to the same bytes: one packing serves them all.
    again = press.compress(bytes(MEBIBYTE)) + press.flush(zlib.Z_FULL_FLUSH)

    async def explode() -> AsyncIterator[bytes]:
        yield head(200, {**HTML, "Content-Encoding": "gzip"}) + first
        for _ in range(count - 1):
            yield again

    return lambda _request: Reply(wire=explode(), close="fin")


def drip(options: Options) -> Responder:
    """A page at `bytes` (1) every `every_ms` (1000), of `total` bytes (100,000)."""
    size, every = int(options.get("bytes", 1)), float(options.get("every_ms", 1000)) / 1000
    total = int(options.get("total", 100_000))

    async def fall() -> AsyncIterator[bytes]:
        yield head(200, {**HTML, "Content-Length": str(total)})
        for _ in range(0, total, size):
            await asyncio.sleep(every)
            yield b"." * size

    return lambda _request: Reply(wire=fall(), close="fin")


def mute(_options: Options) -> Responder:
    """Takes the request and never answers."""
    return lambda _request: Reply(wire=b"", close="hold")


def half_head(_options: Options) -> Responder:
    """The header block ends early."""
    return lambda _request: Reply(wire=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Unfin", close="fin")


def endless_headers(_options: Options) -> Responder:
    """Header lines without end."""

    async def go_on() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"".join(b"X-Line: and another one, since there is always one more to be said\r\n" for _ in range(50))

    return lambda _request: Reply(wire=go_on(), close="fin")


def truncated(_options: Options) -> Responder:
    """`/length`, `/chunked`, `/gzip`: a body that ends before its framing says so."""
    packed = gzip.compress(HALF_PAGE * 50)
    replies = {
        "chunked": head(200, {**HTML, "Transfer-Encoding": "chunked"})
        + b"40\r\n"
        + HALF_PAGE[:64]
        + b"\r\n40\r\nand then",
        # Framed honestly, cut inside the coding: only a decoder that asks for the end can tell.
        "gzip": message(200, {**HTML, "Content-Encoding": "gzip"}, packed[: len(packed) // 2]),
    }
    short = head(200, {**HTML, "Content-Length": "100000"}) + HALF_PAGE

    def answer(request: Request) -> Reply:
        asked = (request.parts() or ["length"])[0]
        return Reply(wire=replies.get(asked, short), close="fin")

    return answer


def reset(_options: Options) -> Responder:
    """The connection is torn down in the middle of the body."""
    wire = head(200, {**HTML, "Content-Length": "100000"}) + HALF_PAGE
    return lambda _request: Reply(wire=wire, close="rst")


def wire(options: Options) -> Responder:
    """Any bytes at all, one entry of `replies` a request, the last one for ever.

    Each entry: wire_b64 | wire_zlib_b64 | status, headers, body | body_b64; close; delay_ms; bytes, every_ms: a drip.
    """
    replies = [(_wire_of(entry), entry) for entry in options.get("replies", [{}])]

    async def play(sent: bytes, entry: Mapping[str, Any]) -> AsyncIterator[bytes]:
        await asyncio.sleep(float(entry.get("delay_ms", 0)) / 1000)
        size = int(entry.get("bytes", 0)) or len(sent) or 1
        for start in range(0, len(sent), size):
            if start:
                await asyncio.sleep(float(entry.get("every_ms", 0)) / 1000)
            yield sent[start : start + size]

    def answer(request: Request) -> Reply:
        sent, entry = replies[min(request.turn, len(replies) - 1)]
        close = str(entry.get("close", "fin"))
        if close not in CLOSES:
            raise ValueError(close)
        timed = {"delay_ms", "every_ms"} & set(entry)
        return Reply(wire=play(sent, entry) if timed else sent, close=close)

    return answer


def _wire_of(entry: Mapping[str, Any]) -> bytes:
    if "wire_b64" in entry:
        return base64.b64decode(entry["wire_b64"])
    if "wire_zlib_b64" in entry:
        return zlib.decompress(base64.b64decode(entry["wire_zlib_b64"]))
    body = base64.b64decode(entry["body_b64"]) if "body_b64" in entry else str(entry.get("body", "")).encode()
    return message(int(entry.get("status", 200)), {**HTML, **entry.get("headers", {})}, body)


HOSTILE: dict[str, Behaviour] = {
    "bomb": bomb,
    "drip": drip,
    "mute": mute,
    "half_head": half_head,
    "endless_headers": endless_headers,
    "truncated": truncated,
    "reset": reset,
    "wire": wire,
}
