"""Markdown of the text inside one block: emphasis, code, links, breaks."""

import re
from dataclasses import dataclass
from itertools import pairwise

from workers.extract.classify import plain
from workers.extract.code import BACKTICK, code_span
from workers.extract.forms import ESCAPE, HARD_BREAK, mark
from workers.extract.images import write_image
from workers.extract.ink import Ink
from workers.extract.marks import tags
from workers.extract.tree import Node

_CODE = tags("code kbd samp tt")
_EMPHASIS = {"b": "**", "strong": "**", "em": "*", "i": "*"}
# One character decides, with at most 33 beside it: linear on any input (a flood of "*_[<" took 20 s otherwise).
_SPECIAL = re.compile(
    r"([\\`]|\*(?!\s)|(?<!\s)\*|(?<!\w)_|_(?!\w)|~(?=~)|<(?=[a-zA-Z/!?])|\](?=[(\[:])|&(?=#?\w{1,32};))"
)
_MAYBE_SPECIAL = re.compile(r"[\\`*_~<\]&]")
_LINE_START = re.compile(r"(#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+$|-+$|\|)|(\d{1,9})(?=[.)](?:\s|$))")
_STARS = (mark("*"), mark("**"))
_ESCAPED = ESCAPE + r"\1"
_BRACKETS = re.compile(rf"(?<!{ESCAPE})[\[\]]")


@dataclass(frozen=True, slots=True)
class _Emphasis:
    """Text between two runs of a mark, if its neighbours let the mark work."""

    mark: str
    text: str


def write_paragraph(kids: list[str | Node], ink: Ink) -> str:
    """One paragraph of Markdown: its lines, none of which begins another construct by accident."""
    text = write_inline(kids, ink)
    if "\n" not in text:
        return _as_line(text)
    return HARD_BREAK.join(filter(None, map(_as_line, text.split("\n"))))


_STARTERS = frozenset("#-+*>=|0123456789")


def _as_line(text: str) -> str:
    line = " ".join(text.split())
    if not line or line[0] not in _STARTERS or not (start := _LINE_START.match(line)):
        return line
    escaped = f"{ESCAPE}{start[1]}" if start[1] else f"{start[2]}{ESCAPE}"
    return escaped + line[start.end() :]


def write_inline(kids: list[str | Node], ink: Ink) -> str:
    """Markdown of text and inline nodes; a newline is a break."""
    pieces: list[str | _Emphasis] = []
    plain_text = True
    for kid in kids:
        if isinstance(kid, str):
            pieces.append(_text(kid, ink))
        elif not kid.mark:
            piece = _piece(kid, ink)
            pieces.append(piece)
            plain_text = plain_text and isinstance(piece, str)
    return "".join(pieces) if plain_text else _joined(pieces)  # type: ignore[arg-type] # all are str then


def _text(text: str, ink: Ink) -> str:
    if len(text) > ink.chars_left:
        text = text[: ink.chars_left + 1]
    if _MAYBE_SPECIAL.search(text):
        text = _SPECIAL.sub(_ESCAPED, text)
    ink.chars_left -= len(text)
    return text


def _piece(node: Node, ink: Ink) -> str | _Emphasis:
    tag = node.tag
    if tag == "br":
        return "\n"
    if tag == "img":
        return write_image(node, ink)
    if tag in _CODE:
        return ink.spend(code_span(plain(node)))
    inner = write_inline(node.kids, ink)
    if tag == "a":
        return _link(node, inner, ink)
    if tag in _EMPHASIS and "\n" not in inner:
        return _Emphasis(_EMPHASIS[tag], inner)
    return f"“{inner.strip()}”" if tag == "q" and inner.strip() else inner


def _link(node: Node, inner: str, ink: Ink) -> str:
    text = " ".join(inner.split())
    url = ink.resolve(node.attrs.get("href", "")) if text else ""
    if not url:
        return inner
    ink.note_link(plain(node), url)
    address = ink.address(url)
    if not address:
        return inner
    if BACKTICK not in text and "](" not in text:
        text = _BRACKETS.sub(ESCAPE + r"\g<0>", text)
    before, after = " " * inner[:1].isspace(), " " * inner[-1:].isspace()
    return before + mark("[") + text + mark(f"]({address})") + after


def _joined(pieces: list[str | _Emphasis]) -> str:
    """The pieces in a row. A mark is written only where CommonMark's flanking rules read it as one."""
    out: list[str] = []
    last = ""
    for piece, following in pairwise([*pieces, ""]):
        text = piece if isinstance(piece, str) else _marked(piece, last, following)
        if text:
            out.append(text)
            last = text[-1]
    return "".join(out)


def _marked(piece: _Emphasis, before: str, following: "str | _Emphasis") -> str:
    text = piece.text.strip()
    if not text:
        return piece.text[:1]
    lead = " " * piece.text[0].isspace()
    tail = " " * piece.text[-1].isspace()
    after = tail or (following if isinstance(following, str) else following.text)[:1]
    opens = _is_word(text[0]) or not _is_word(lead or before)
    closes = _is_word(text[-1]) or not _is_word(after)
    if not (opens and closes) or "*" in {before, text[0], text[-1]} or text.startswith(_STARS) or text.endswith(_STARS):
        return f"{lead}{text}{tail}"
    stars = mark(piece.mark)
    return f"{lead}{stars}{text}{stars}{tail}"


def _is_word(char: str) -> bool:
    """Whether the character is neither space, punctuation nor nothing. Source: CommonMark 0.31, 6.2."""
    return bool(char) and char.isalnum()
