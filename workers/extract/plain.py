"""Readable text of plain text and Markdown bodies: passed through, cleaned."""

import re

from workers.extract.clean import clean, one_line

_TRAILING = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,2}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_TITLE_CHARS = 300
_HEAD_CHARS = 8_192


def render_text(source: str) -> tuple[str, str]:
    """Title (none) and text of a plain body."""
    return "", _TRAILING.sub("", clean(source)).strip("\n")


def render_markdown(source: str) -> tuple[str, str]:
    """Title (its first heading) and text of a Markdown body; two spaces at a line's end mean something and stay."""
    text = clean(source).strip("\n")
    heading = _HEADING.search(text[:_HEAD_CHARS])
    return (one_line(heading[1], _TITLE_CHARS) if heading else ""), text
