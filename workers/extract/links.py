"""Addresses that a page refers to: data, resolved against the page's own address and never looked up (M115)."""

import re

import ada_url

from schemas.document import Link

_SCHEMES = frozenset({"http", "https"})
# What a link is labelled with that leads nowhere worth reading, or does not say where.
_DULL = re.compile(
    r"(?:\W*\w?\W*|[\d\W]*|(?:click )?here|this|(?:read )?more|\w* ?more|link|permalink|source|edit|reply|quote|share"
    r"|print|like|report|follow|top|up|back|prev(?:ious)?|next|home|menu|close|cancel|ok|view|see all|show all)\Z",
    re.IGNORECASE,
)
_BUSINESS = re.compile(
    r"/(?:log-?in|sign-?in|sign-?up|register|account|cart|basket|checkout|share|sharer|intent|privacy\S{0,9}|terms\S{0,9}"
    r"|cookies?\S{0,9}|subscribe|newsletter|donate|edit|tag|tags|author|authors|user|users|profile)(?=[/?.&=]|\Z)"
    r"|[?&](?:action=(?:edit|history|login)|share=|replytocom=|print=)",
    re.IGNORECASE,
)
_IN_MARKDOWN = str.maketrans({"(": "%28", ")": "%29", "|": "%7C", "\\": "%5C", "<": "%3C", ">": "%3E", " ": "%20"})


def absolute(base_url: str, reference: str) -> str:
    """The absolute address of a reference, of any scheme; empty when it has none. Source: WHATWG URL."""
    try:
        return str(ada_url.join_url(base_url, reference))
    except ValueError:
        return ""


def join(base_url: str, reference: str) -> str:
    """The absolute http(s) address of a reference; empty when it has none or carries credentials."""
    url = absolute(base_url, reference)
    scheme, _, rest = url.partition("://")
    return url if scheme in _SCHEMES and "@" not in rest.partition("/")[0] else ""


def in_markdown(url: str) -> str:
    """The address as a Markdown link's destination holds it."""
    return url.translate(_IN_MARKDOWN)


def ranked(links: list[Link], page_url: str, limit: int) -> tuple[Link, ...]:
    """The links of most use to a reader, best first; of equal use, in order of appearance."""
    page = page_url.partition("#")[0].partition("?")[0]
    return tuple(sorted(links, key=lambda link: -_use(link, page))[:limit])


def _use(link: Link, page: str) -> int:
    """How much a reader may get of a link: it says where it leads, and that is another text."""
    use = 2
    if _DULL.match(link.text):
        use -= 2
    if _BUSINESS.search(link.url):
        use -= 1
    if link.url.partition("#")[0].partition("?")[0] == page:
        use -= 1
    return use
