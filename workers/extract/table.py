"""Markdown tables; tables that only lay a page out are read as their cells."""

import re
from collections.abc import Iterator

from workers.extract.forms import BREAK, ESCAPE, HARD_BREAK, mark
from workers.extract.lists import Flow
from workers.extract.marks import HEADINGS, INLINE, tags
from workers.extract.tree import Node

_HEADING = re.compile(r"^\x02#{1,6} \x03")
_FIRST, _LAST = mark("| "), mark(" |")
_COLUMNS_MAX = 200
_GROUPS = tags("thead tbody tfoot colgroup form div")
_HEADED_CHARS = 200  # a longer cell with a heading in it is part of a page's layout
_CELLS = frozenset({"td", "th"})
_TOO_MUCH = tags("table pre blockquote")  # what a cell of a Markdown table cannot hold


def write_table(node: Node, flow: Flow) -> list[str]:
    """The caption and one table, or the blocks of its cells in a row where it is none."""
    rows = [cells for row in _rows(node) if (cells := [cell for cell in _nodes(row) if cell.tag in _CELLS])]
    blocks = [block for kid in _nodes(node) if kid.tag == "caption" for block in flow(kid)]
    if not _is_data(rows):
        cells = [cell for row in rows for cell in row if not _is_gutter(cell, row)] or _stray(node)
        return [*blocks, *(block for cell in cells for block in flow(cell))]
    width = min(_COLUMNS_MAX, max(map(len, rows)))
    lines = [_line([_cell(cell, flow) for cell in row[:width]], width) for row in rows]
    return [*blocks, "\n".join((lines[0] + mark("\n|" + " --- |" * width), *lines[1:]))]


def _nodes(node: Node) -> Iterator[Node]:
    return (kid for kid in node.kids if isinstance(kid, Node) and not kid.mark)


def _rows(node: Node) -> Iterator[Node]:
    for kid in _nodes(node):
        if kid.tag == "tr":
            yield kid
        elif kid.tag in _GROUPS:
            yield from _rows(kid)


def _stray(node: Node) -> list[Node]:
    """A table without rows: whatever it holds."""
    return [kid for kid in _nodes(node) if kid.tag != "caption"]


def _is_data(rows: list[list[Node]]) -> bool:
    wide = len(rows) > 1 and max(map(len, rows)) > 1
    return wide and not any(_holds_too_much(cell) for row in rows for cell in row)


def _holds_too_much(node: Node) -> bool:
    return any(
        kid.tag in _TOO_MUCH
        or (kid.tag in HEADINGS and node.kept_chars > _HEADED_CHARS)
        or ((kid.tag not in INLINE or kid.has_blocks) and _holds_too_much(kid))
        for kid in _nodes(node)
    )


def _is_gutter(cell: Node, row: list[Node]) -> bool:
    """A cell of line numbers beside a cell of code."""
    if len(row) != 2 or cell is not row[0]:
        return False
    codes = [any(kid.tag == "pre" for kid in _deep(one)) for one in row]
    return codes[1] and all(part.isdigit() for part in _text(cell).split())


def _deep(node: Node) -> Iterator[Node]:
    for kid in _nodes(node):
        yield kid
        if kid.tag not in _TOO_MUCH:
            yield from _deep(kid)


def _text(node: Node) -> str:
    return " ".join(kid if isinstance(kid, str) else _text(kid) for kid in node.kids)


def _cell(cell: Node, flow: Flow) -> str:
    blocks = [
        " ".join(_HEADING.sub("", block).replace(HARD_BREAK, BREAK).replace("\n", BREAK).split())
        for block in flow(cell)
    ]
    return BREAK.join(blocks).replace("|", f"{ESCAPE}|")


def _line(cells: list[str], width: int) -> str:
    return _FIRST + " | ".join(cells + [""] * (width - len(cells))) + _LAST
