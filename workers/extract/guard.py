"""Page bytes that the parser can read in linear time."""

import re

# One tag as HTML reads it (a quote opens a value only after "="), in possessive steps: linear, under 1 ms for a page of
# 200 KB. libxml2 compares a tag's attributes pairwise: 40,000 of them take 1.6 s, 200,000 a minute.
_TAG = re.compile(rb"<[a-zA-Z](?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?+)*+(?:>|\Z)")
# The same, stepping over scripts, styles and comments whole, for what looks like a tag in them is none: 1.6 ms.
_TAG_IN_MARKUP = re.compile(
    rb"<!--(?:[^-]++|-(?!->))*+|<(script|style)(?=[\s/>])[^>]*+>(?:[^<]++|<(?!/\1))*+|(?P<tag>" + _TAG.pattern + rb")",
    re.IGNORECASE,
)
_NAME = re.compile(rb"<[a-zA-Z][a-zA-Z0-9:-]{0,30}")
_ATTRIBUTE = re.compile(rb"[\s/][^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>]++))?+")
_SUSPECT_BYTES = 2_048
_ATTRIBUTES_MAX = 1_000
# References to control characters: the parser would make characters of them that no page may hold.
_CONTROL_REFERENCE = re.compile(
    rb"&#(?:0*+(?:[0-8]|1[124-9]|2[0-9]|3[01]|127)(?![0-9])|[xX]0*+(?:[0-8bcefBCEF]|1[0-9a-fA-F]|7[fF])(?![0-9a-fA-F]));?"
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\x0c") + b"\x7f"


def tame(page: bytes) -> bytes:
    """The page without control characters, and without the attributes of tags that carry thousands of them."""
    page = _CONTROL_REFERENCE.sub(b"", page.translate(None, _CONTROLS))
    page = _CONTROL_REFERENCE.sub(b" ", page)  # what the first pass put together: "&#&#3;3;"
    large = (tag for tag in _TAG.finditer(page) if tag.end() - tag.start() >= _SUSPECT_BYTES)
    if not any(map(_is_monstrous, large)):
        return page
    kept, place = [], 0
    for tag in _TAG_IN_MARKUP.finditer(page):
        if tag["tag"] and tag.end() - tag.start() >= _SUSPECT_BYTES and _is_monstrous(tag):
            name = _NAME.match(tag[0])
            kept += [page[place : tag.start()], name[0] if name else b"<div", b">"]
            place = tag.end()
    return b"".join((*kept, page[place:]))


def _is_monstrous(tag: re.Match[bytes]) -> bool:
    return sum(1 for _ in _ATTRIBUTE.finditer(tag[0])) > _ATTRIBUTES_MAX
