"""DuckDuckGo's HTML page as a provider: one form, one page, read by what its blocks are called.

Facts of 2026-11 from public clients, their fixtures and their issues: blocks `div.result` with `a.result__a` and
`.result__snippet`; links direct or through `/l/?uddg=`; advertisements as `result--ad` blocks or `/y.js` links, with
titles of the same class; a `no-results` block where nothing was found; a challenge with `challenge-form`,
`anomaly-modal__*` and `anomaly.js`, under status 202, 200, 403 or 429; 499 characters at most.
"""

from collections.abc import Iterator
from urllib.parse import parse_qs

from schemas.destination import Destination
from schemas.errors import Refused, SourceBlocked, SourceChanged
from workers.extract import mime
from workers.extract.charset import decode, name_charset
from workers.extract.clean import clean
from workers.extract.guard import tame
from workers.extract.head import parse
from workers.extract.sniff import sniff
from workers.extract.tree import Element
from workers.search.provider import Hit, Provider, Wanted

NAME = "duckduckgo"
ENDPOINT = Destination.parse("https://html.duckduckgo.com/html/")
QUERY_CHARS = 499  # longer ones are answered with a refusal
EVERYWHERE = "wt-wt"

_OWN_HOSTS = frozenset({"duckduckgo.com", "www.duckduckgo.com", "html.duckduckgo.com"})
_BLOCK, _TITLE, _SNIPPET = "result", "result__a", "result__snippet"
_AD = "result--ad"  # and `result--ad--small`
_NOTHING = frozenset({"no-results", "result--no-result"})
_FRAME_IDS = frozenset({"links", "search_form", "search_form_homepage"})


def _form(query: str, wanted: Wanted) -> dict[str, str]:
    """The fields that the page's own form sends for a first page; `b` is its button."""
    hints = {"kl": wanted.region or EVERYWHERE}
    return {"q": query, "b": ""} | hints | ({"df": wanted.time_range} if wanted.time_range else {})


def read_page(body: bytes, content_type: str) -> tuple[Hit, ...]:
    """The organic results of a page, none where it says so. Raises: SourceBlocked, SourceChanged."""
    root = _parsed(body, content_type)
    if root is None:
        raise SourceBlocked("The search provider answered with no page.", provider=NAME, reason="no_page")
    if any(_is_challenge(element) for element in root.iter("form", "div", "script")):
        raise SourceBlocked("The search provider asks whether we are a person.", provider=NAME, reason="challenge")
    hits = tuple(_hits(root))
    if hits or any(_NOTHING & _classes(element) for element in root.iter("div", "span", "p")):
        return hits
    raise _unrecognised(root)


def _parsed(body: bytes, content_type: str) -> Element | None:
    media = mime.parse(content_type)
    if sniff(body, media) != "html":
        return None
    source = decode(body, name_charset(body, media.charset, markup=True))
    return parse(tame(source.encode("utf-8", "replace")))[0]


def _is_challenge(element: Element) -> bool:
    if element.tag == "script":
        return "/anomaly.js" in (element.get("src") or "")
    named = (element.get("id") or "", *_classes(element))
    return any(name.startswith(("challenge-form", "anomaly-modal")) for name in named)


def _hits(root: Element) -> Iterator[Hit]:
    for block in root.iter("div"):
        classes = _classes(block)
        if _BLOCK not in classes or any(name.startswith(_AD) for name in classes):
            continue
        title = next((link for link in block.iter("a") if _TITLE in _classes(link)), None)
        if title is not None and (reference := title.get("href")):
            snippet = next((one for one in block.iter("a", "div", "span", "td") if _SNIPPET in _classes(one)), None)
            yield Hit(_text(title), _unwrapped(reference), "" if snippet is None else _text(snippet))


def _unwrapped(reference: str) -> str:
    """The absolute address that a result's link leads to; empty where it leads nowhere. One redirect link is opened."""
    try:
        place = Destination.parse(reference, base=ENDPOINT)
    except Refused:
        return ""
    if place.name in _OWN_HOSTS and place.request_target().startswith("/l/"):
        return next(iter(parse_qs(place.query()).get("uddg", ())), "")
    return f"{place.href}#{place.fragment}" if place.fragment else place.href


def _unrecognised(root: Element) -> SourceBlocked | SourceChanged:
    """A search page of another shape has changed; a page with nothing of a search page in it stands in its way."""
    framed = any(_is_frame(element) for element in root.iter("div", "form", "input"))
    if framed:
        return SourceChanged("The search provider's page is not recognised.", provider=NAME, reason="markup")
    return SourceBlocked("The search provider answered with another page.", provider=NAME, reason="other_page")


def _is_frame(element: Element) -> bool:
    if element.tag == "input":
        return element.get("name") == "q"
    return element.get("id") in _FRAME_IDS or any(name.startswith(_BLOCK) for name in _classes(element))


def _classes(element: Element) -> frozenset[str]:
    return frozenset((element.get("class") or "").split())


def _text(element: Element) -> str:
    return " ".join(clean("".join(map(str, element.itertext(with_tail=False)))).split())


DUCKDUCKGO = Provider(
    name=NAME, endpoint=ENDPOINT, accept="text/html", query_chars=QUERY_CHARS, form=_form, read=read_page
)
