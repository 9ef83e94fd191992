"""Foreign text in plain sight: what is invisible or turns the reading direction is written out, quotes are marked.

Such text is hostile. It is escaped like any other; and characters that hide, or that make the words around them appear
in another order, are shown by their numbers, so that a person reads what is there. Source: Unicode TR 36, section 2.2.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup, escape

from schemas.selector import Span

# Joiners belong to words of many scripts, and neither hide nor turn anything.
_LEFT_ALONE = frozenset("\n\t\u200c\u200d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of a text. Shape: `quotes` are the numbers of the quotes that it is in; `begins` of those it begins."""

    text: str
    quotes: tuple[int, ...]
    begins: tuple[int, ...]


def stretches(text: str, quotes: Mapping[int, Span]) -> tuple[Stretch, ...]:
    """The whole text, cut wherever a quote begins or ends. Quotes may overlap."""
    cuts = sorted({0, len(text), *(cut for span in quotes.values() for cut in (span.start, span.end))})
    return tuple(
        Stretch(
            text=text[start:end],
            quotes=tuple(number for number, span in quotes.items() if span.start <= start and end <= span.end),
            begins=tuple(number for number, span in quotes.items() if span.start == start),
        )
        for start, end in pairwise(cuts)
    )


def in_plain_sight(text: str) -> Markup:
    """The text as HTML."""
    return Markup("").join(_shown(hidden, run) for hidden, run in groupby(text, _is_hidden))


def _shown(hidden: bool, run: Iterable[str]) -> Markup:  # noqa: FBT001 - the key that groupby gives
    if not hidden:
        return escape("".join(run))
    return Markup("").join(Markup('<span class="hidden-sign">U+{:04X}</span>').format(ord(one)) for one in run)


def _is_hidden(character: str) -> bool:
    if character.isprintable() or character in _LEFT_ALONE:
        return False
    return unicodedata.category(character) != "Zs"
