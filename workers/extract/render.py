"""Markdown of the chosen container: one walk, block by block."""

from collections.abc import Iterator
from functools import partial

from workers.extract.code import write_code
from workers.extract.forms import mark
from workers.extract.ink import Ink
from workers.extract.inline import write_inline, write_paragraph
from workers.extract.lists import LISTS, write_list
from workers.extract.marks import HEADINGS, INLINE
from workers.extract.table import write_table
from workers.extract.tree import Node, holder

_NESTING_MAX = 24  # deeper lists, quotes and tables are written as their text: nobody reads an indent of 50
_QUOTE = mark("> ")
_CONSTRUCTS = LISTS | HEADINGS.keys() | {"menu", "pre", "table", "blockquote"}


def render(container: Node, ink: Ink) -> list[str]:
    """The blocks of the container, in order, without any that is empty."""
    return _flow(holder(container), ink=ink, nesting=0)


def _flow(node: Node, *, ink: Ink, nesting: int) -> list[str]:
    """The blocks inside a node. Elements without a construct of their own end paragraphs and cost no recursion."""
    blocks: list[str] = []
    run: list[str | Node] = []
    outer: list[tuple[Node, Iterator[str | Node]]] = [(node, iter(node.kids))]
    while outer and not ink.is_dry:
        kid = next(outer[-1][1], None)
        if isinstance(kid, str) or (kid is not None and not kid.mark and kid.tag in INLINE and not kid.has_blocks):
            run.append(kid)
        elif kid is None or not kid.mark:
            _end_paragraph(run, blocks, ink)
            if kid is None:
                outer.pop()
            elif kid.tag in _CONSTRUCTS and nesting < _NESTING_MAX:
                blocks += _construct(kid, tuple(one for one, _ in outer[-2:]), ink, nesting + 1)
            else:
                _note_card(kid, ink)
                outer.append((kid, iter(kid.kids)))
    _end_paragraph(run, blocks, ink)
    return blocks


def _end_paragraph(run: list[str | Node], blocks: list[str], ink: Ink) -> None:
    if run:
        if text := write_paragraph(run, ink):
            blocks.append(text)
        run.clear()


def _construct(node: Node, outer: tuple[Node, ...], ink: Ink, nesting: int) -> list[str]:
    flow = partial(_flow, ink=ink, nesting=nesting)
    tag = node.tag
    if tag == "table":
        return write_table(node, flow)
    if tag == "blockquote":
        text = "\n\n".join(flow(node)).replace("\n", f"\n{_QUOTE}")
        text = _QUOTE + text if text else ""
    elif tag == "pre":
        text = ink.spend(write_code(node, outer))
    elif tag in HEADINGS:
        text = " ".join(write_inline(node.kids, ink).split()).rstrip("¶ ")
        text = mark(f"{'#' * HEADINGS[tag]} ") + text if text else ""
    else:
        text = write_list(node, flow)
    return [text] if text else []


def _note_card(node: Node, ink: Ink) -> None:
    """A link around whole blocks is kept for the list, under its first words."""
    if node.tag == "a" and (url := ink.resolve(node.attrs.get("href", ""))):
        ink.note_link(_first_text(node), url)


def _first_text(node: Node) -> str:
    for kid in node.kids:
        text = kid if isinstance(kid, str) else "" if kid.mark else _first_text(kid)
        if text.strip():
            return text
    return ""
