"""What the road's end means for a search, in one table. What a page says is read by its provider."""

from schemas.errors import (
    HttpError,
    OutriderError,
    RedirectBlocked,
    RedirectLimit,
    RedirectLoop,
    SourceBlocked,
    SourceChanged,
    SourceUnavailable,
)
from schemas.reply import Reply
from workers.search.provider import Provider

_OK = 200
_REDIRECTS = (RedirectBlocked, RedirectLimit, RedirectLoop)
# 429, 502, 503 and 504 are `rate_limited` and `source_unavailable` on any road. Any other status than these and 200
# says that this client is not wanted here: a challenge comes as 202, 200 or 403.
_BY_STATUS: dict[int, type[SourceBlocked | SourceChanged | SourceUnavailable]] = {
    404: SourceChanged,
    405: SourceChanged,
    410: SourceChanged,
    500: SourceUnavailable,
}
_WORDS = {
    SourceBlocked: "The search provider turned the search away.",
    SourceChanged: "The search provider does not serve its search page there any more.",
    SourceUnavailable: "The search provider is not available.",
}


def require_page(reply: Reply, provider: Provider) -> Reply:
    """The reply, where its status promises results. Raises: SourceBlocked."""
    if reply.status != _OK:
        raise _of_status(reply.status, provider)
    return reply


def in_terms_of_search(error: OutriderError, provider: Provider) -> OutriderError:
    """The same end as a searcher is told it; of most kinds the road's own words say enough."""
    if isinstance(error, HttpError):
        return _of_status(int(error.facts["status"] or 0), provider)
    if isinstance(error, _REDIRECTS):
        # The place it names is not told: it may hold the query.
        return RedirectBlocked("The search provider answered with a redirect, and none is followed.", reason="search")
    return error


def _of_status(status: int, provider: Provider) -> OutriderError:
    kind = _BY_STATUS.get(status, SourceBlocked)
    return kind(_WORDS[kind], provider=provider.name, status=status)
