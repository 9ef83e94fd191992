"""What kind of content a body is, judged by its bytes together with its header."""

import re
from typing import Literal

from workers.extract.mime import MediaType

Sniffed = Literal["html", "text", "markdown", "json", "xml", "pdf", "stream", "binary"]

_WINDOW = 1_024
_MAGIC = (  # WHATWG mimesniff 6, and the archives and programs met as "text/html" in public reports
    b"PK\x03\x04", b"PK\x05\x06", b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"\x1f\x8b", b"BZh9",
    b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!\x1a", b"\x28\xb5\x2f\xfd", b"OggS\x00", b"fLaC", b"ID3", b"\x7fELF",
    b"MZ\x90\x00", b"\x00asm", b"\xca\xfe\xba\xbe", b"wOFF", b"wOF2", b"\x00\x01\x00\x00", b"OTTO", b"\x1aE\xdf\xa3",
    b"SQLite format 3\x00", b"\xd0\xcf\x11\xe0", b"%!PS-Adobe-", b"{\\rtf", b"\x00\x00\x01\x00", b"II*\x00", b"MM\x00*",
    b"FLV\x01",
)  # fmt: skip
_INNER_MAGIC = ((4, b"ftyp"), (8, b"WEBP"), (8, b"AVI "), (8, b"WAVE"), (257, b"ustar"))
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*+>)*+<(?:!doctype\s+html|(?:html|head|body|script|iframe|h1|div|font"
    rb"|table|a|style|title|b|br|p|meta|main|article|section)(?=[\s/>]))",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[\s?]|<(?:rss|feed|rdf:RDF|svg|urlset|opml)(?=[\s>]))")
_XHTML_ROOT = re.compile(rb"<html[^>]*?xmlns\s*=|<!doctype\s+html", re.IGNORECASE)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:\{\s*+[\"}]|\[\s*+[\[{\"\]\dtfn-])")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # mimesniff's "binary data bytes"
_CONTROLS_MAX = 16  # a stray one is a typo of somebody's editor; noise has over a hundred in a kilobyte
_UTF16_BOMS = (b"\xfe\xff", b"\xff\xfe")
_UNSAID = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown", "binary/octet-stream"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "text/x-web-markdown"})
_JSON_TYPES = frozenset({"application/json", "text/json", "application/x-json"})
_XML_TYPES = frozenset({"application/xml", "text/xml"})
_TEXT_TYPES = frozenset({"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson"})


def sniff(body: bytes, media: MediaType) -> Sniffed:
    """The content's kind. A header that says text does not make bytes text, and the other way round."""
    if body.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if _has_magic(body):
        return "binary"
    essence = media.essence
    if essence in _UNSAID:
        return _by_bytes(body, media)
    kind = _by_header(body, essence)
    return "binary" if kind in {"html", "text", "markdown", "json", "xml"} and _is_noise(body, media) else kind


def _has_magic(body: bytes) -> bool:
    return body.startswith(_MAGIC) or any(body[place : place + len(mark)] == mark for place, mark in _INNER_MAGIC)


def _is_noise(body: bytes, media: MediaType) -> bool:
    """NUL, or control after control, in the first kilobyte of what does not begin as a page. UTF-16 is full of NUL."""
    if body.startswith(_UTF16_BOMS) or media.charset.lower().startswith("utf-16"):
        return False
    head = body[:_WINDOW]
    noise = b"\0" in head or sum(1 for _ in _CONTROL.finditer(head)) > _CONTROLS_MAX
    return noise and not _HTML.match(body)


def _by_bytes(body: bytes, media: MediaType) -> Sniffed:
    """Where no header says anything. Source: WHATWG mimesniff 7.1, with JSON told by its first two tokens."""
    if _HTML.match(body):
        return "html"
    if _XML.match(body):
        return _xml_or_page(body)
    utf16 = body.startswith(_UTF16_BOMS) or media.charset.lower().startswith("utf-16")
    if not utf16 and _CONTROL.search(body[:_WINDOW]):
        return "binary"
    return "json" if _JSON_START.match(body) else "text"


def _by_header(body: bytes, essence: str) -> Sniffed:
    if essence in _HTML_TYPES:
        return _xml_or_page(body) if _XML.match(body) else "html"
    if essence in _JSON_TYPES or essence.endswith("+json"):
        return "html" if _HTML.match(body) else "json"  # an error page under an API's type
    if essence in _XML_TYPES or essence.endswith("+xml"):
        return _xml_or_page(body)
    if essence == "text/event-stream":
        return "stream"
    if essence in _MARKDOWN_TYPES:
        return "markdown"
    return "text" if essence.startswith("text/") or essence in _TEXT_TYPES else "binary"


def _xml_or_page(body: bytes) -> Sniffed:
    return "html" if _XHTML_ROOT.search(body[:_WINDOW]) else "xml"
