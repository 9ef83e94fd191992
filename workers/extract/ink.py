"""What the rendering of one page carries along: its base address, its links and its budget."""

from dataclasses import dataclass, field

from schemas.document import Link
from workers.extract.clean import one_line
from workers.extract.links import in_markdown, join

_RESOLVED_MAX = 5_000  # a page with more links is a link farm: the rest is written as text
_URL_CHARS = 2_000
_ADDRESS_SHARE = 0.25  # of the text: even an index page is read for its words
_LINK_TEXT_CHARS = 200
_NOTED_MAX = 500  # the best of the first so many are listed


@dataclass(slots=True)
class Ink:
    """The state of one rendering.

    Unit: `chars_left` counts rendered characters down; below zero, nothing more is read. `images` says whether what
    they show is told.
    """

    base_url: str
    chars_max: int
    chars_left: int
    images: bool = True
    links: dict[str, Link] = field(default_factory=dict)
    resolved_count: int = 0
    address_chars: int = 0

    @property
    def is_dry(self) -> bool:
        """Whether the budget is spent."""
        return self.chars_left < 0

    def spend(self, text: str) -> str:
        """The text, charged."""
        self.chars_left -= len(text)
        return text

    def address(self, url: str) -> str:
        """The address as it stands in the text; empty when addresses already take their share of the budget."""
        written = in_markdown(url)
        if self.address_chars + len(written) > _ADDRESS_SHARE * self.chars_max:
            return ""
        self.address_chars += len(written)
        return self.spend(written)

    def resolve(self, reference: str) -> str:
        """The absolute http(s) address of a reference, without credentials; empty for any other.

        A reference within the page is not an address to go to. Nothing is looked up (M115).
        """
        reference = reference.strip()
        if not reference or reference.startswith("#") or len(reference) > _URL_CHARS:
            return ""
        self.resolved_count += 1
        return join(self.base_url, reference) if self.resolved_count <= _RESOLVED_MAX else ""

    def note_link(self, text: str, url: str) -> None:
        """Keep a link for the list, the first of each address."""
        if len(self.links) < _NOTED_MAX and url not in self.links and (label := one_line(text, _LINK_TEXT_CHARS)):
            self.links[url] = Link(label, url)
