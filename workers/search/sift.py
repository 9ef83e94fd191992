"""The sieve of results: what is an advertisement, unsafe, elsewhere, or there already, is left out."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.destination import Destination
from schemas.errors import Refused
from schemas.limits import Limits
from workers.net.judge import judge_place
from workers.search.provider import Hit

URL_CHARS = 4_096  # a longer one could not be fetched (M104)

# Links that count a click for whoever paid for it, or lead on through the provider a second time: name with its
# subdomains, and how the path begins.
_PAID = (
    ("duckduckgo.com", "/y.js"),
    ("duckduckgo.com", "/l/"),
    ("bing.com", "/aclick"),
    ("bing.com", "/aclk"),
    ("google.com", "/aclk"),
    ("googleadservices.com", "/"),
    ("doubleclick.net", "/"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A result that is passed on. Shape: `url` is canonical, with its fragment."""

    title: str
    url: str
    snippet: str


def sift(hits: Iterable[Hit], *, site: str | None, limits: Limits, count: int) -> tuple[Kept, ...]:
    """The first `count` results that may be passed on, in the provider's order. DNS is not asked."""
    kept: dict[str, Kept] = {}
    for hit in hits:
        if len(kept) == count:
            break
        place = _place(hit.link, limits)
        if place is None or _is_paid(place) or (site is not None and not belongs(place.name, site)):
            continue
        url = f"{place.href}#{place.fragment}" if place.fragment else place.href
        kept.setdefault(place.href, Kept(title=hit.title or place.name, url=url, snippet=hit.snippet))
    return tuple(kept.values())


def belongs(name: str, site: str) -> bool:
    """Whether a name is the site's or a subdomain's. Shape: both lower-case A-labels without a trailing dot."""
    return name == site or name.endswith(f".{site}")


def _place(link: str, limits: Limits) -> Destination | None:
    """The place of a link that could be fetched, as far as can be said without a packet."""
    try:
        place = Destination.parse(link)
        judge_place(place, limits)
    except Refused:
        return None
    return place if len(place.href) + len(place.fragment) < URL_CHARS else None


def _is_paid(place: Destination) -> bool:
    target = place.request_target()
    return any(belongs(place.name, name) and target.startswith(path) for name, path in _PAID)
