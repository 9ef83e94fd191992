"""The honest sites of the private internet: each behaviour takes its zone options and gives an answerer of requests."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from ops.lab.http import Behaviour, Options, Reply, Request, Responder, html, message, text

PAGES = Path(__file__).with_name("pages")


def page(options: Options) -> Responder:
    """One page for every path. Options: file | body, bytes, charset, type, status, headers, gzip."""
    body = _page_body(options)
    status = int(options.get("status", 200))
    headers = {"Content-Type": str(options.get("type", "text/html; charset=utf-8"))} | _texts(
        options.get("headers", {})
    )
    plain = message(status, headers, body)
    packed = message(status, {**headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}, gzip.compress(body))

    def answer(request: Request) -> Reply:
        takes_gzip = options.get("gzip") and "gzip" in request.header("accept-encoding")
        return Reply(wire=packed if takes_gzip else plain)

    return answer


def redirect(options: Options) -> Responder:
    """`/n` answers with n redirects, then a page. Options: status, to (a fixed target), missing (no Location)."""
    status = int(options.get("status", 302))

    def answer(request: Request) -> Reply:
        if options.get("missing"):
            return Reply(wire=message(status, {}, b""))
        if fixed := options.get("to"):
            return Reply(wire=message(status, {"Location": str(fixed)}, b""))
        left = int("".join(part for part in request.parts()[:1] if part.isdigit()) or 0)
        if not left:
            return Reply(wire=html("The end of the road", "No redirect is left: you have arrived."))
        return Reply(wire=message(status, {"Location": f"/{left - 1}"}, b""))

    return answer


def slow(options: Options) -> Responder:
    """`/ms/200` waits 200 ms, then gives a page. Options: those of page, ms (for other paths)."""
    steady = page(options)

    async def later(request: Request, seconds: float) -> AsyncIterator[bytes]:
        await asyncio.sleep(seconds)
        wire = steady(request).wire
        if isinstance(wire, bytes):
            yield wire

    def answer(request: Request) -> Reply:
        parts = request.parts()
        asked = parts[1] if len(parts) > 1 and parts[0] == "ms" else options.get("ms", 0)
        seconds = int(asked) / 1000
        return Reply(wire=later(request, seconds)) if seconds else steady(request)

    return answer


def cookie(_options: Options) -> Responder:
    """`/` sets a cookie and redirects to `/seen`, whose page says which cookies came along."""

    def answer(request: Request) -> Reply:
        if request.parts() == ["seen"]:
            came = request.header("cookie") or "no cookies"
            return Reply(wire=html("Cookies", f"Your request brought: {came}."))
        setting = {"Set-Cookie": "lab=crumb; Path=/; Max-Age=3600", "Location": "/seen"}
        return Reply(wire=message(302, setting, b""))

    return answer


def echo(_options: Options) -> Responder:
    """The request as it came, as JSON."""

    def answer(request: Request) -> Reply:
        seen = {
            "scheme": request.scheme,
            "method": request.method,
            "target": request.target,
            "headers": [list(pair) for pair in request.headers],
            "body_bytes": len(request.body),
        }
        return Reply(wire=text(json.dumps(seen, indent=1), kind="application/json"))

    return answer


def mutating(_options: Options) -> Responder:
    """A page whose text is another at each request."""

    def answer(request: Request) -> Reply:
        words = f"This page has been read {request.turn + 1} times, so it is never the same page twice."
        return Reply(
            wire=html("A page that changes", words, *[f"Sentence {n} of edition {request.turn}." for n in range(40)])
        )

    return answer


def _page_body(options: Options) -> bytes:
    written = str(options.get("body", "")).encode()
    body = (PAGES / str(options["file"])).read_bytes() if "file" in options else written
    if wanted := int(options.get("bytes", 0)):
        body = _stretched(body, wanted)
    if charset := options.get("charset"):
        body = body.decode().encode(str(charset))
    return body


def _stretched(body: bytes, wanted: int) -> bytes:
    """Numbered paragraphs put before `</main>` until the page has `wanted` bytes at least."""
    before, mark, after = body.partition(b"</main>")
    grown = bytearray(before)
    number = 0
    while len(grown) < wanted:
        number += 1
        grown += (
            f"<p>Paragraph {number}: the road goes on past the mill, over the bridge and along the river, where the"
            f" herons stand; milestone {number} is the one with the moss on it.</p>\n"
        ).encode()
    return bytes(grown) + mark + after


def _texts(table: Mapping[str, object]) -> dict[str, str]:
    return {str(key): str(value) for key, value in table.items()}


HONEST: dict[str, Behaviour] = {
    "page": page,
    "redirect": redirect,
    "slow": slow,
    "cookie": cookie,
    "echo": echo,
    "mutating": mutating,
}
