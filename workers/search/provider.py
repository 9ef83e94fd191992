"""The seam behind which a search provider works: what it is asked, where, and what it says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from schemas.destination import Destination
from schemas.errors import QueryTooLong
from schemas.reply import Ask

TimeRange = Literal["d", "w", "m", "y"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is searched for. Shape: `words` hold no command to the provider; `site` is an A-label name without a dot."""

    words: str
    site: str | None = None
    time_range: TimeRange | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One result as the provider spells it. Shape: `link` may be relative, or anything else that a page can hold."""

    title: str
    link: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One search service.

    Shape: `endpoint` is the one place that is ever asked, so that a redirect away from it is an error; `form` gives
    the fields of a question; `query_chars` is the longest query it takes; `read` makes hits of a body and its
    Content-Type, runs in a process of its own, gives an empty tuple only where the provider says that it found
    nothing, and raises SourceBlocked, SourceChanged or SourceUnavailable where it says neither.
    """

    name: str
    endpoint: Destination
    accept: str
    query_chars: int
    form: Callable[[str, Wanted], dict[str, str]]
    read: Callable[[bytes, str], tuple[Hit, ...]]

    def ask(self, wanted: Wanted) -> Ask:
        """The one request of a search: a form, so that the query is in no URL, log or digest. Raises: QueryTooLong."""
        query = wanted.words if wanted.site is None else f"{wanted.words} site:{wanted.site}"
        if len(query) > self.query_chars:
            raise QueryTooLong(
                "The query is longer than the search provider takes.", limit=self.query_chars, characters=len(query)
            )
        headers = (("Accept", self.accept), ("Content-Type", "application/x-www-form-urlencoded"))
        return Ask(method="POST", headers=headers, body=urlencode(self.form(query, wanted)).encode())
