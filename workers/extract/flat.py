"""The text of a page that nests deeper than any tree goes: all of it, without structure."""

from lxml import etree

from workers.extract.hidden import is_hidden
from workers.extract.marks import CONSENT, FURNITURE, INLINE, NAMED, Attributes, judge
from workers.extract.tree import NEVER

_CHUNK_BYTES = 65_536


def flat_text(page: bytes, limit: int) -> str:
    """The visible text, one line a block, read as a stream: libxml2's tree stops at 2,048 levels, its stream does not.

    Shape: UTF-8 without control characters (`guard.tame`). Unit: it stops a little past `limit` characters.
    """
    reader = _Reader(limit)
    parser = etree.HTMLParser(target=reader, encoding="utf-8", huge_tree=True)
    for place in range(0, len(page), _CHUNK_BYTES):
        parser.feed(page[place : place + _CHUNK_BYTES])
        if reader.left < 0:
            break
    parser.close()
    return reader.text()


class _Reader:
    """What lxml tells of a page, tag by tag. `_unseen` counts the open elements that are or lie in one nobody reads."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self._unseen = 0
        self._out: list[str] = []

    def start(self, tag: str | bytes, attrib: dict[str | bytes, str | bytes]) -> None:
        if self._unseen or _is_unseen(str(tag), {str(name): str(value) for name, value in attrib.items()}):
            self._unseen += 1
        elif tag not in INLINE or tag == "br":
            self._out.append("\n")

    def end(self, _tag: str | bytes) -> None:
        if self._unseen:
            self._unseen -= 1

    def data(self, data: str | bytes) -> None:
        if not self._unseen and self.left >= 0:
            self.left -= len(data)
            self._out.append(str(data))

    def comment(self, _text: str | bytes) -> None:
        """Nobody sees a comment."""

    def close(self) -> None:
        """The parser is done; `text` gives what it told."""

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._out).split("\n"))
        return "\n".join(line for line in lines if line)


def _is_unseen(tag: str, attrs: Attributes) -> bool:
    if tag in NEVER or tag in {"noscript", "title"} or (attrs and is_hidden(attrs, "any")):
        return True
    return judge(tag, attrs, in_pre=False)[1] in {FURNITURE, NAMED, CONSENT}
