"""Which elements nobody sees."""

import re
from collections.abc import Sized
from functools import lru_cache

from workers.extract.marks import Attributes

_STREAMED = re.compile(r"S:[0-9a-f]{1,8}\Z")
_HIDING = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|clip\s*:\s*rect\(\s*0"
    r"|clip-path\s*:\s*inset\(\s*(?:50|100)%|(?:left|top|text-indent)\s*:\s*-\d{3,}(?:px|r?em))",
    re.IGNORECASE,
)
# On an element that holds others this only closes the gaps between them, and each sets its own size.
_SHRINKING = re.compile(r"(?:^|[;\s])font-size\s*:\s*0(?![\d.])", re.IGNORECASE)
# A panel that a reader unfolds by a click is content, in whatever state the page was sent.
_FOLDED = re.compile(r"tab-?panel|tab-?pane|accordion|collaps|faq", re.IGNORECASE)
_STYLE_CHARS = 1_000


CONCEALING = frozenset({"hidden", "aria-hidden", "style"})  # no other attribute hides


def is_hidden(attrs: Attributes, element: Sized) -> bool:
    """Whether an element with these attributes is out of sight. React's streamed segments are moved into view."""
    if "hidden" in attrs:
        hidden = not _STREAMED.match(attrs.get("id", ""))
    elif attrs.get("aria-hidden") == "true":
        hidden = True
    else:
        style = attrs.get("style", "")
        hidden = style != "" and _hides(style[:_STYLE_CHARS], is_leaf=len(element) == 0)
    return hidden and not _FOLDED.search(f"{attrs.get('role', '')} {attrs.get('class', '')[:_STYLE_CHARS]}")


@lru_cache(4_096)
def _hides(style: str, *, is_leaf: bool) -> bool:
    return bool(_HIDING.search(style) or (is_leaf and _SHRINKING.search(style)))
