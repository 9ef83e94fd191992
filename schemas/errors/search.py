"""The search provider: what its answer means where it is no list of results."""

from schemas.errors.tree import Failed, Refused

_INSTEAD = "Do other work, or fetch a known reference URL directly, instead of searching again."


class QueryTooLong(Refused):
    """The query, with what the call adds to it, is longer than the provider takes."""

    code = "query_too_long_for_provider"
    hint = "Search with fewer words: the facts name the provider's limit, which counts an added site: too."


class SourceBlocked(Failed):
    """The provider turned the search away: a challenge, a refusal, or a page with nothing of a search page in it."""

    code = "source_blocked"
    hint = f"The search provider does not answer this machine now. {_INSTEAD}"


class SourceChanged(Failed):
    """The provider's page is a search page of a shape that is not recognised: whether it found anything is unknown."""

    code = "source_changed"
    hint = f"The search provider's page has a new form that has to be learned first. {_INSTEAD}"
