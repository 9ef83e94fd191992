"""One rendering, two forms: what Markdown has and plain text has not stands between two control characters.

No page holds them: `guard.tame` takes them out of its bytes. So both forms come of the same walk, block for block.
"""

import re
from collections.abc import Callable

from schemas.document import Form

_OPEN, _CLOSE = "\x02", "\x03"
ESCAPE = "\x04"  # the backslash before a character that would else be markup
BREAK = "\x05"  # a line's end in a table's cell
HARD_BREAK = f"{_OPEN}  {_CLOSE}\n"  # a line's end in a paragraph
# In a quote, the mark of each line stands within that of a fence.
_MARKS = re.compile(f"{_OPEN}(?:[^{_OPEN}{_CLOSE}]++|{_OPEN}[^{_CLOSE}]*+{_CLOSE})*+{_CLOSE}|{ESCAPE}")


def mark(markup: str) -> str:
    """The markup, for Markdown alone."""
    return f"{_OPEN}{markup}{_CLOSE}"


def as_markdown(written: str) -> str:
    """The Markdown of what was written."""
    for mark, meant in ((_OPEN, ""), (_CLOSE, ""), (ESCAPE, "\\"), (BREAK, "<br>")):
        written = written.replace(mark, meant)
    return written


def as_text(written: str) -> str:
    """The plain text of what was written: its words, list marks, table cells and lines."""
    return _MARKS.sub("", written).replace(BREAK, "; ")


FORMS: dict[Form, Callable[[str], str]] = {"markdown": as_markdown, "text": as_text}
