"""What a page's images say: their text for those who do not see them."""

import re

from workers.extract.code import code_span
from workers.extract.forms import ESCAPE, mark
from workers.extract.ink import Ink
from workers.extract.tree import Node

_FORMULA = re.compile(r"(?<![a-z])(?:math|latex|tex|equation|formula|mwe-math)(?![a-z])")
_GLYPH_CHARS = 3  # an emoji is written with up to so many
_WORDS_MIN = 3  # with fewer it is a name, not a description
_ALT_CHARS = 500
_FILE_NAME = re.compile(r"\.(?:jpe?g|png|gif|webp|svg|avif)\Z", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`*_\[\]<&]")


def write_image(node: Node, ink: Ink) -> str:
    """A formula or a glyph as its text, a described picture as an image without its address; else nothing.

    The address would cost a reader more than it gives: images are not fetched.
    """
    alt = " ".join(node.attrs.get("alt", "")[:_ALT_CHARS].split())
    if not alt:
        return ""
    if _FORMULA.search(node.classes):
        return ink.spend(code_span(alt))
    escaped = _SPECIAL.sub(lambda one: ESCAPE + one[0], alt)
    if len(alt) <= _GLYPH_CHARS and not alt.isascii():
        return ink.spend(escaped)
    if not ink.images or len(alt.split()) < _WORDS_MIN or _FILE_NAME.search(alt):
        return ""
    return ink.spend(mark(f"![{_SPECIAL.sub(_escaped, alt)}]()"))


def _escaped(special: re.Match[str]) -> str:
    return f"\\{special[0]}"
