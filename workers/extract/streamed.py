"""Pages that a server streams: segments that lie at the end of the body, put where their placeholders stand.

React sends a page's slow parts last, in `<div hidden id="S:1">`, with a script that moves each to its `<template>`.
Nothing runs here: the moves are read out of the scripts, which are always the same few letters.
"""

import re
from itertools import islice

from workers.extract.tree import Element

# Source: React DOM server, ReactDOMFizzInstructionSet: $RC(boundary, segment), $RS(segment, placeholder).
_MOVE = re.compile(rb"\$R[CS]\(\"([BSP]:[0-9a-f]{1,8})\",\s*\"([BSP]:[0-9a-f]{1,8})\"")
_MOVES_MAX = 1_000


def place_segments(root: Element, page: bytes) -> None:
    """Move each streamed segment of the page to its placeholder."""
    moves = (move.groups() for move in islice(_MOVE.finditer(page), _MOVES_MAX))
    pairs = [sorted(pair, key=lambda name: name.startswith(b"S")) for pair in moves]
    if not pairs:
        return
    named = {name: one for one in root.iter("div", "template", "table") if (name := one.get("id", ""))[1:2] == ":"}
    for holder, segment in pairs:
        place, moved = named.get(holder.decode()), named.get(segment.decode())
        if place is None or moved is None or moved in place.iterancestors():
            continue
        parent = place.getparent()
        if parent is None:
            continue
        moved.tail, tail = None, moved.tail
        _leave(moved, tail)
        del moved.attrib["hidden"]
        parent.insert(parent.index(place), moved)


def _leave(element: Element, tail: str | None) -> None:
    """Keep the text after an element where it is when the element goes."""
    if not tail:
        return
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        before.tail = (before.tail or "") + tail
    elif parent is not None:
        parent.text = (parent.text or "") + tail
