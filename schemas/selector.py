"""Selectors: a quote that leads back to one place of a text.

Offsets are Unicode code points, the end is exclusive. Stored as the pair of W3C Web Annotation selectors,
TextQuoteSelector and TextPositionSelector. Source: W3C Web Annotation Data Model sections 4.2.4 and 4.2.5.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

CONTEXT_CHARS = 96  # what is stored on either side of a quote: enough to find it again in an edited text
EXACT_CHARS = 8_000
AROUND_CHARS = 500

Around = Annotated[str, StringConstraints(max_length=AROUND_CHARS)]


class Selector(BaseModel):
    """A quote as it is submitted. Prefix, suffix and position are optional as long as one place fits them all."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    exact: Annotated[str, StringConstraints(min_length=1, max_length=EXACT_CHARS)]
    prefix: Around = ""
    suffix: Around = ""
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _position_is_whole(self) -> Self:
        if (self.start is None) != (self.end is None):
            msg = "start and end come together"
            raise ValueError(msg)
        return self


@dataclass(frozen=True, slots=True)
class Span:
    """A place of a text. Unit: code points, `end` exclusive."""

    start: int
    end: int


class NotAnchored(ValueError):
    """The quote leads to no place, or to more than one. Its word is `absent`, `ambiguous` or `conflict`."""


def anchor(text: str, selector: Selector) -> Span:
    """The one place of the text that the selector means.

    A position must hold the very quote. A quote that is nowhere as it is may differ in white space alone.
    Raises: NotAnchored.
    """
    if selector.start is not None and selector.end is not None:
        span = Span(selector.start, selector.end)
        if text[span.start : span.end] != selector.exact or not _in_context(text, span, selector):
            raise NotAnchored("conflict")
        return span
    fitting = (span for span in _places(text, selector.exact) if _in_context(text, span, selector))
    found = next(fitting, None)
    if found is None:
        raise NotAnchored("absent")
    if next(fitting, None) is not None:
        raise NotAnchored("ambiguous")
    return found


def stored_form(text: str, span: Span) -> list[dict[str, Any]]:
    """The place as the two W3C selectors, with the text's own words around it."""
    quote = {
        "type": "TextQuoteSelector",
        "exact": text[span.start : span.end],
        "prefix": text[max(0, span.start - CONTEXT_CHARS) : span.start],
        "suffix": text[span.end : span.end + CONTEXT_CHARS],
    }
    return [quote, {"type": "TextPositionSelector", "start": span.start, "end": span.end}]


def _places(text: str, exact: str) -> Iterator[Span]:
    """Where the quote stands, overlapping places too; where it is nowhere, places that differ in white space."""
    start = text.find(exact)
    if start < 0:
        yield from _loose_places(text, exact)
    while start >= 0:
        yield Span(start, start + len(exact))
        start = text.find(exact, start + 1)


def _loose_places(text: str, exact: str) -> Iterator[Span]:
    words = exact.split()
    if words:
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        found = pattern.search(text)
        while found is not None:
            yield Span(*found.span())
            found = pattern.search(text, found.start() + 1)


def _in_context(text: str, span: Span, selector: Selector) -> bool:
    return text[: span.start].endswith(selector.prefix) and text.startswith(selector.suffix, span.end)
