"""Reports of bad pages, each as a small page and what its Markdown must and must not hold.

One JSON object a line: `id`, `html` (or `raw_b64`), and any of `has`, `no`, `once` (strings), `has_re`, `no_re`
(patterns), `parts` (constructs that a CommonMark parser must find, by kind).
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ops.bench.constructs import Constructs, of_markdown

REPORTS = Path(__file__).with_name("reports.jsonl")
_KINDS = {"head": "heading"}  # as others write it


def failing(file: Path, reader: Callable[[bytes, str], str]) -> dict[str, str]:
    """The reports that are not met, by id, with why."""
    found = {}
    for line in file.read_text("utf-8").splitlines():
        case = json.loads(line)
        markdown = reader(body_of(case), "https://page.example/x")
        if why := "; ".join(unmet(case, markdown)):
            found[case["id"]] = why
    return found


def body_of(case: dict[str, Any]) -> bytes:
    """The page of a report."""
    return base64.b64decode(case["raw_b64"]) if "raw_b64" in case else str(case["html"]).encode()


def unmet(case: dict[str, Any], markdown: str) -> Iterator[str]:
    """What the Markdown does not hold to."""
    bare = markdown.replace("\\_", "_")
    yield from (f"lacks {text!r}" for text in case.get("has", ()) if text not in bare)
    yield from (f"holds {text!r}" for text in case.get("no", ()) if text in markdown)
    yield from (f"holds {text!r} not once" for text in case.get("once", ()) if markdown.count(text) != 1)
    yield from (f"lacks /{one}/" for one in case.get("has_re", ()) if not re.search(one, markdown))
    yield from (f"holds /{one}/" for one in case.get("no_re", ()) if re.search(one, markdown))
    yield from _missing(case.get("parts", {}), of_markdown(markdown)[1])


def _missing(parts: dict[str, list[str]], found: Constructs) -> Iterator[str]:
    for kind, texts in parts.items():
        yield from (f"no {kind} {text!r}" for text in texts if not found[_KINDS.get(kind, kind)][text])
