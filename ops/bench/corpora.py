"""Pages with right answers, read from folders: a corpus is not ours to ship.

A suite is a folder in one of two layouts: `html/NAME.html.gz` beside `ground-truth/NAME.json`, whose
`ground_truth.main_content` is the text (WCXB); or `html/NAME.html` beside `manifest.json`, a list of
`{id, family, path, xpath, drop}`, where the element at `xpath` without those at `drop` is the answer (manual pages).
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree, html

from ops.bench.constructs import Constructs, of_html, within

_NEVER = ("script", "style", "noscript", "template")
_FURNITURE = ("nav", "footer", "aside", *_NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a suite: its bytes, and the text and constructs that are its content."""

    name: str
    kind: str
    url: str
    body: bytes
    truth: str
    held: Constructs


def suites(folder: Path) -> Iterator[tuple[str, Path]]:
    """The suites in a folder, or below it, by name."""
    for page_folder in sorted(folder.rglob("html")):
        suite = page_folder.parent
        if (suite / "manifest.json").is_file() or (suite / "ground-truth").is_dir():
            yield str(suite.relative_to(folder)) or suite.name, suite


def pages(suite: Path, limit: int | None) -> Iterator[Page]:
    """The pages of a suite; at most `limit` of them, spread over all."""
    manifest = suite / "manifest.json"
    entries = (
        json.loads(manifest.read_text()) if manifest.is_file() else sorted((suite / "ground-truth").glob("*.json"))
    )
    step = max(1, len(entries) // limit) if limit else 1
    for entry in entries[::step][:limit]:
        yield _manual(suite, entry) if isinstance(entry, dict) else _annotated(suite, entry)


def _manual(suite: Path, entry: dict[str, Any]) -> Page:
    body = (suite / "html" / f"{entry['id']}.html").read_bytes()
    root: Any = html.document_fromstring(body, parser=html.HTMLParser(remove_comments=True))
    main = root.xpath(str(entry["xpath"]))[0]
    for path in (*entry["drop"], *(f"//{tag}" for tag in _NEVER)):
        for element in main.xpath(f".{path}"):
            _drop(element)
    text = " ".join(" ".join(main.itertext()).split())
    url = f"https://docs.example.org/{entry['path']}"
    return Page(name=str(entry["id"]), kind=str(entry["family"]), url=url, body=body, truth=text, held=of_html(main))


def _annotated(suite: Path, path: Path) -> Page:
    said = json.loads(path.read_text())
    body = gzip.decompress((suite / "html" / f"{path.stem}.html.gz").read_bytes())
    truth = said["ground_truth"].get("main_content") or ""
    kind = (said.get("_internal") or {}).get("page_type") or "article"
    kind = kind.get("primary", "article") if isinstance(kind, dict) else kind
    return Page(
        name=path.stem, kind=str(kind), url=said.get("url") or "", body=body, truth=truth, held=_held(body, truth)
    )


def _held(body: bytes, truth: str) -> Constructs:
    try:
        root = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8", remove_comments=True))
    except etree.ParserError:
        return within({}, truth)
    for element in list(root.iter(*_FURNITURE)):
        _drop(element)
    held = within(of_html(root), truth)
    if held["cell"].total() < 4:
        held["cell"].clear()
    return held


def _drop(element: html.HtmlElement) -> None:
    if element.getparent() is not None:
        element.drop_tree()
