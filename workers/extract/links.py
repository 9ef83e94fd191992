"""Addresses that a page refers to: data, resolved against the page's own address and never looked up (M115)."""

import ada_url

_SCHEMES = frozenset({"http", "https"})
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
