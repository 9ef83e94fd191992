"""Markdown lists: nested, numbered from where they start."""

import re
from collections.abc import Callable

from workers.extract.tree import Node, holder

Flow = Callable[[Node], list[str]]

LISTS = frozenset({"ul", "ol", "dir"})
_MARKED = re.compile(r"(?:-|\d{1,9}\.) ")
_NUMBER_MAX = 999_999_999  # a longer number is no list mark; CommonMark 0.31, 5.2


def write_list(node: Node, flow: Flow) -> str:
    """One list; empty when it holds nothing. A list between the items goes to the item before it."""
    number = _number(node.attrs.get("start", "1"), 1)
    items: list[str] = []
    for kid in node.kids:
        blocks = _blocks(kid, flow)
        if not blocks:
            continue
        if items and isinstance(kid, Node) and kid.tag in LISTS:
            items[-1] += "\n" + _indented(_joined(blocks), _width(items[-1]))
            continue
        if isinstance(kid, Node) and "value" in kid.attrs:
            number = _number(kid.attrs["value"], number)
        mark = f"{min(number, _NUMBER_MAX)}. " if node.tag == "ol" else "- "
        items.append(mark + _indented(_joined(blocks), len(mark)).lstrip(" "))
        number += 1
    return "\n".join(items)


def _blocks(kid: str | Node, flow: Flow) -> list[str]:
    if isinstance(kid, str):
        return [kid.strip()] if kid.strip() else []
    if kid.mark:
        return []
    return flow(kid if kid.tag == "li" else holder(kid))


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else otherwise


def _width(item: str) -> int:
    mark = _MARKED.match(item)
    return len(mark[0]) if mark else 2


def _joined(blocks: list[str]) -> str:
    """The blocks of one item: a list directly under its text, everything else after an empty line."""
    out = blocks[0]
    for block in blocks[1:]:
        out += ("\n" if _MARKED.match(block) else "\n\n") + block
    return out


def _indented(text: str, width: int) -> str:
    pad = " " * width
    return "\n".join(pad + line if line else line for line in text.split("\n"))
