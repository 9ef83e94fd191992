"""What a text keeps of a page: its words, and its code, cells, headings, items and inline code as such."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from textwrap import dedent

from lxml import html
from markdown_it import MarkdownIt
from markdown_it.token import Token

KINDS = ("code", "cell", "heading", "item", "inline")
_READER = MarkdownIt("commonmark").enable("table")
_WORD = re.compile(r"\w+")
_ITEM_WORDS = 8  # an item is known by its first words: what is nested in it has its own
_CELL = frozenset({"td_open", "th_open"})
_INLINE = ("code", "tt", "kbd", "samp")
Constructs = dict[str, Counter[str]]


def words(text: str) -> list[str]:
    """The words of a text."""
    return _WORD.findall(text)


def word_f1(text: str, truth: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the text's words as a bag, letters' case aside."""
    have, want = Counter(words(text.lower())), Counter(words(truth.lower()))
    if not have or not want:
        equal = 1.0 if not have and not want else 0.0
        return equal, equal, equal
    shared = (have & want).total()
    precision, recall = shared / have.total(), shared / want.total()
    return precision, recall, 2 * precision * recall / (precision + recall) if shared else 0.0


def key(text: str) -> str:
    """What two writings of the same construct have in common."""
    return " ".join(words(unicodedata.normalize("NFKC", text)))


def _code(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\xa0", " ").replace("\r\n", "\n").split("\n")]
    return dedent("\n".join(lines)).strip("\n")


def _empty() -> Constructs:
    return {kind: Counter() for kind in KINDS}


def of_markdown(markdown: str) -> tuple[str, Constructs]:
    """The words of a Markdown text, and the constructs that a CommonMark parser finds in it."""
    found, said = _empty(), []
    items: list[list[str]] = []
    before = ""
    for token in _READER.parse(markdown):
        if token.type in {"fence", "code_block"}:
            found["code"][_code(token.content)] += 1
            said.append(token.content)
        elif token.type == "list_item_open":
            items.append([])
        elif token.type == "list_item_close":
            found["item"][_item(" ".join(items.pop()))] += 1
        elif token.type == "inline":
            said.append("".join(_spoken(token)))
            _count_line(found, token, before, said[-1])
            if items and before not in _CELL:
                items[-1].append(said[-1])
        before = token.type
    return "\n".join(said), found


def _count_line(found: Constructs, token: Token, before: str, text: str) -> None:
    """Count what a run of inline text is, and the code in it."""
    found["inline"].update(key(child.content) for child in token.children or () if child.type == "code_inline")
    if before in _CELL:
        found["cell"][key(text)] += 1
    elif before == "heading_open":
        found["heading"][key(text)] += 1


def _spoken(token: Token) -> Iterator[str]:
    for child in token.children or ():
        if child.type in {"text", "code_inline"}:
            yield child.content
        elif child.type in {"softbreak", "hardbreak"} or child.content.startswith(("<br", "<p", "</p", "<li", "</li")):
            yield " "


def _item(text: str) -> str:
    return " ".join(key(text).split()[:_ITEM_WORDS])


def of_html(main: html.HtmlElement) -> Constructs:
    """The constructs of a page's main content."""
    found = _empty()
    for element in main.iter("pre"):
        text = _code(_text(element))
        if len(words(text)) > 1 and "linenos" not in (element.getparent().get("class") or ""):
            found["code"][text] += 1
    for element in main.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        found["heading"][key(_text(element))] += 1
    for element in main.iter("li"):
        found["item"][_item(_text(element, without=("ul", "ol", "pre", "table", "dl")))] += 1
    for table in main.iter("table"):
        found["cell"].update(_cells(table))
    for element in main.iter(*_INLINE):
        if not any(one.tag in {"pre", *_INLINE} for one in element.iterancestors()):
            found["inline"][key(_text(element))] += 1
    for counter in found.values():
        counter.pop("", None)
    return found


def _cells(table: html.HtmlElement) -> Iterator[str]:
    """The cells of a table of data: it has rows and columns, and none of them holds another table."""
    rows = [[cell for cell in row if cell.tag in {"td", "th"}] for row in table.iter("tr")]
    wide = len(rows) > 1 and max(map(len, rows)) > 1
    if not wide or table.get("role") == "presentation" or table.find(".//table") is not None:
        return
    for cell in (cell for row in rows for cell in row):
        if next(cell.iter("pre", "ul", "ol", "dl"), None) is None:
            yield key(_text(cell))


def _text(element: html.HtmlElement, without: tuple[str, ...] = ()) -> str:
    out = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag not in without:
            out.append("\n" if child.tag == "br" else _text(child, without))
            if child.tag in {"p", "div", "li", "td", "dd"}:
                out.append(" ")
        out.append(child.tail or "")
    return "".join(out)


def within(found: Constructs, truth: str) -> Constructs:
    """The constructs that lie within a plain text, as often as they do."""
    hay = f" {key(truth)} "
    least = {"code": 3, "cell": 1, "heading": 2, "item": 4, "inline": 1}
    kept = _empty()
    for kind, counter in found.items():
        for text, count in counter.items():
            if len(key(text).split()) >= least[kind] and (times := min(count, hay.count(f" {key(text)} "))):
                kept[kind][text] = times
    return kept


def shares(kept: list[tuple[Constructs, Constructs]]) -> dict[str, float]:
    """Of each kind, the share of what pages hold that their texts hold as such."""
    told = {}
    for kind in KINDS:
        want = sum(held[kind].total() for held, _ in kept)
        if want:
            told[kind] = sum((held[kind] & got[kind]).total() for held, got in kept) / want
    return told
