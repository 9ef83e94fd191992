"""Rendered blocks without what only repeats or announces."""

from workers.extract.forms import as_markdown, mark
from workers.extract.genre import Genre

_REPEATED_CHARS = 60  # a block this long that stands twice is a teaser of itself
_LABEL_CHARS = 40
_FENCES = (mark("```")[:-1], mark("~~~")[:-1])


def tidied(blocks: list[str], genre: Genre, *, prose: bool) -> list[str]:
    """The blocks that are given. A manual says the same of many things, and is left as it is."""
    if genre == "manual":
        return blocks
    return _once(_without_labels(blocks) if prose else blocks)


def _once(blocks: list[str]) -> list[str]:
    """The blocks without long ones that stood before, code aside."""
    seen: set[str] = set()
    kept = []
    for block in blocks:
        if len(block) > _REPEATED_CHARS and not block.startswith(_FENCES):
            if block in seen:
                continue
            seen.add(block)
        kept.append(block)
    return kept


def _without_labels(blocks: list[str]) -> list[str]:
    """The blocks without the headings and labels that end them: what they announce was left out."""
    while blocks and _is_label(as_markdown(blocks[-1]), alone=len(blocks) <= 3):
        blocks.pop()
    return blocks


def _is_label(block: str, *, alone: bool) -> bool:
    return block.startswith(("#", "![")) or (not alone and len(block) < _LABEL_CHARS and block[-1] not in '.!?。"”`|')
