"""What a page says about itself: its title, its base address, where it would send its reader."""

import re

from lxml import etree

from workers.extract.clean import one_line
from workers.extract.links import absolute, join
from workers.extract.tree import Element

TITLE_CHARS = 300
# Source: WHATWG HTML, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"\s*\d*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(\S.*))", re.IGNORECASE | re.DOTALL
)


def read_title(page: Element) -> str:
    """The page's title: its name for sharing where its title holds that, else its title, else its first heading."""
    title = _text(page.find(".//title"))
    shared = next((one for one in map(_shared_title, page.iter("meta")) if one), "")
    if shared and (not title or shared in title):
        return shared
    return title or _text(page.find(".//h1"))


def _shared_title(meta: Element) -> str:
    is_title = (meta.get("property") or meta.get("name") or "").lower() == "og:title"
    return one_line(meta.get("content") or "", TITLE_CHARS) if is_title else ""


def _text(element: Element | None) -> str:
    return one_line("".join(map(str, element.itertext(with_tail=False))), TITLE_CHARS) if element is not None else ""


def read_base(page: Element, base_url: str) -> str:
    """The address that the page's references are relative to."""
    base = page.find(".//base[@href]")
    return (join(base_url, base.get("href") or "") if base is not None else "") or base_url


def read_refresh(page: Element | None, base_url: str) -> str:
    """Where the page would send its reader by `<meta http-equiv=refresh>`: an address as it resolves, or empty.

    It is a fact to report, never followed: whoever does goes through the guard like anybody else.
    """
    for meta in page.iter("meta") if page is not None else ():
        if (meta.get("http-equiv") or "").strip().lower() == "refresh":
            found = _REFRESH.match(meta.get("content") or "")
            target = next((part for part in found.groups() if part), "").strip() if found else ""
            return absolute(base_url, target) if target else ""
    return ""


def parse(page: bytes) -> tuple[Element | None, bool]:
    """The parsed page, and whether it nests deeper than the parser goes (2,048), where it stops reading.

    Shape: UTF-8 without control characters (`guard.tame`).
    """
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(page, parser) if page.strip() else None
    return root, any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
