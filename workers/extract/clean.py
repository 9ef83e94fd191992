"""Text without what no reader should meet, cut where a reader would cut it."""

import re
from collections.abc import Callable

_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_FENCES = ("```", "~~~")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\u2028\u2029]")


def clean(text: str) -> str:
    """The text without NUL, C0 (but tab and newline), DEL and lone surrogates, with newlines as newlines."""
    return _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))


def cut(text: str, limit: int) -> tuple[str, bool]:
    """The text up to the limit, ended at a paragraph or a line where one ends in its second half.

    Unit: characters (code points). The second value says whether anything was cut.
    """
    if len(text) <= limit:
        return text, False
    for boundary in ("\n\n", "\n"):
        place = text.rfind(boundary, limit // 2, limit + len(boundary))
        if place > 0:
            return text[:place].rstrip(), True
    return text[:limit], True


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut at the limit."""
    return " ".join(clean(text[: 4 * limit]).split())[:limit].rstrip()


def fit(blocks: list[str], limit: int, form: Callable[[str], str]) -> tuple[str, bool]:
    """Written blocks in one of their forms, as one text within the limit: cut between blocks, or in a long one.

    Unit: characters. The second value says whether anything was cut.
    """
    text = form("\n\n".join(blocks))
    if len(text) <= limit:
        return text, False
    kept: list[str] = []
    size = 0
    for block in map(form, blocks):
        if size + len(block) > limit:
            kept += [_part(block, limit - size)] if size < limit // 2 else []
            break
        kept.append(block)
        size += len(block) + 2
    return "\n\n".join(kept), True


def _part(block: str, limit: int) -> str:
    """The first lines of a block; a code block's fence is closed again."""
    fence = block[: len(block) - len(block.lstrip(block[:1]))] if block[:3] in _FENCES else ""
    closing = f"\n{fence}" if fence else ""
    return cut(block, max(0, limit - len(closing)))[0][: max(0, limit - len(closing))] + closing
