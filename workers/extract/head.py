"""What a page says about itself: its title, its addresses, its language, its date."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from workers.extract.clean import one_line
from workers.extract.links import absolute, join
from workers.extract.tree import Element

TITLE_CHARS = 300
DESCRIPTION_CHARS = 500
# Source: WHATWG HTML, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"\s*\d*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(\S.*))", re.IGNORECASE | re.DOTALL
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8}){0,3}\Z", re.IGNORECASE)  # Source: RFC 5646, the usual part
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?")
_LINKED_DATE = re.compile(rb"\"datePublished\"\s*:\s*\"([^\"]{8,40})\"")  # Source: schema.org, as JSON-LD has it
_DATE_NAMES = (
    "article:published_time", "datepublished", "og:published_time", "citation_publication_date", "dcterms.created",
    "dc.date.issued", "dcterms.date", "dc.date", "parsely-pub-date", "sailthru.date", "pubdate", "publish-date", "date",
)  # fmt: skip
_METAS_MAX = 500  # of a name each, the first counts; a flood of them is no head


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A page's own account. Empty is what it does not say.

    Shape: `refresh` and `canonical` are absolute addresses, the first of any scheme, to report and never to follow;
    `published` is an ISO 8601 date or time, as it stands there.
    """

    title: str = ""
    base_url: str = ""
    refresh: str = ""
    generator: str = ""
    description: str = ""
    language: str = ""
    published: str = ""
    canonical: str = ""


@dataclass(slots=True)
class _Told:
    """The page's metas by name, and the first link and base of use."""

    metas: dict[str, str] = field(default_factory=dict)
    canonical: str = ""
    base: str = ""


def read_head(root: Element, page: bytes, base_url: str) -> Head:
    """What the page says of itself; its references are resolved against its own address."""
    told = _read(root)
    base = (join(base_url, told.base) if told.base else "") or base_url
    return Head(
        title=_title(root, one_line(told.metas.get("og:title", ""), TITLE_CHARS)),
        base_url=base,
        refresh=_refresh(told.metas.get("refresh", ""), base),
        generator=told.metas.get("generator", ""),
        description=one_line(told.metas.get("description") or told.metas.get("og:description", ""), DESCRIPTION_CHARS),
        language=_language(root, told.metas),
        published=next(_dates(told.metas, page), ""),
        canonical=join(base, told.canonical) if told.canonical else "",
    )


def _read(root: Element) -> _Told:
    told = _Told()
    for element in root.iter("meta", "link", "base"):
        if element.tag == "meta":
            for attribute in ("name", "property", "http-equiv", "itemprop"):
                name = (element.get(attribute) or "").strip().lower()
                if name and name not in told.metas and len(told.metas) < _METAS_MAX:
                    told.metas[name] = element.get("content") or ""
        elif element.tag == "base":
            told.base = told.base or element.get("href") or ""
        elif not told.canonical and "canonical" in (element.get("rel") or "").lower().split():
            told.canonical = element.get("href") or ""
    return told


def _title(root: Element, shared: str) -> str:
    """Its name for sharing where its title holds that, else its title, else its first heading."""
    title = _text(root.find(".//title"))
    if shared and (not title or shared in title):
        return shared
    return title or _text(root.find(".//h1"))


def _text(element: Element | None) -> str:
    return one_line("".join(map(str, element.itertext(with_tail=False))), TITLE_CHARS) if element is not None else ""


def _refresh(content: str, base_url: str) -> str:
    """Where `<meta http-equiv=refresh>` would send the reader: an address as it resolves, or empty."""
    found = _REFRESH.match(content)
    target = next((part for part in found.groups() if part), "").strip() if found else ""
    return absolute(base_url, target) if target else ""


def _language(root: Element, metas: dict[str, str]) -> str:
    said = (root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang") or "",
            metas.get("content-language", ""), metas.get("language", ""), metas.get("og:locale", ""))  # fmt: skip
    return next((one.strip().replace("_", "-") for one in said if _LANGUAGE.match(one.strip())), "")


def _dates(metas: dict[str, str], page: bytes) -> Iterator[str]:
    """The dates of publication that it names, best first."""
    names = [metas[name] for name in _DATE_NAMES if name in metas]
    linked = _LINKED_DATE.search(page)
    if linked:
        names.insert(1, linked[1].decode("ascii", "replace"))
    for one in names:
        if found := _DATE.match(one.strip().replace("/", "-")):
            yield found[0]


def parse(page: bytes) -> tuple[Element | None, bool]:
    """The parsed page, and whether it nests deeper than the parser goes (2,048), where it stops reading.

    Shape: UTF-8 without control characters (`guard.tame`).
    """
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False
    )
    root = etree.fromstring(page, parser) if page.strip() else None
    return root, any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
