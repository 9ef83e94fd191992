"""Documents: what extraction makes of a body."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

Kind = Literal["html", "text", "markdown", "json"]
Form = Literal["markdown", "text"]  # what an HTML page is rendered to


@dataclass(frozen=True, slots=True)
class Link:
    """A reference found in a page: data, never followed and never resolved just to be listed."""

    text: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The readable text of one body.

    Shape: `text` is Markdown for html (or plain, where plain was asked for) and markdown, plain for text, indented
    for json; no NUL, no C0 but tab and newline. `links` are absolute http(s), without duplicates, best first.
    `source_truncated`: the extractor stopped at one of its own bounds and the rest is not kept. `notes` are constant
    snake_case words. What the page says of itself is empty where it says nothing: `description`, `language` (RFC 5646),
    `published` (ISO 8601, as it stands there), `canonical` (an absolute address, never followed).
    """

    kind: Kind
    charset: str
    title: str
    text: str
    links: tuple[Link, ...] = ()
    source_truncated: bool = False
    notes: tuple[str, ...] = ()
    description: str = ""
    language: str = ""
    published: str = ""
    canonical: str = ""

    def text_sha256(self) -> str:
        """The contentHash of the bounded extracted text: lower-case hex of its UTF-8 bytes (M112)."""
        return sha256(self.text.encode()).hexdigest()
