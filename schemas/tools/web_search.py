"""web_search: discover public pages by words."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from schemas.destination import Destination
from schemas.errors import Refused
from schemas.profiles import WEB_SEARCH
from schemas.query import readable_query
from schemas.tool import Tool
from schemas.tools.web_fetch import NOTICE, BudgetOut

TimeRange = Literal["d", "w", "m", "y"]

# Everything that would make more of a domain than its name: scheme, path, port, user, query, wildcard, quotes.
_NO_DOMAIN = re.compile(r"[^\w.\-\u00b7\u3002\uff0e\uff61]")


def _domain(site: str) -> str:
    """The site as results spell it: lower-case A-labels, without a trailing dot."""
    msg = "a site is a public domain name alone: no scheme, path, port, wildcard or address"
    if _NO_DOMAIN.search(site):
        raise ValueError(msg)
    try:
        place = Destination.parse(f"https://{site}/")
    except Refused:
        raise ValueError(msg) from None
    if place.literal is not None or "." not in place.name:
        raise ValueError(msg)
    return place.name


class Args(BaseModel):
    """What a model may write (M83-M90). Closed. Shape: `site` becomes lower-case A-labels without a trailing dot."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    query: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000), AfterValidator(readable_query)
    ] = Field(description="Public words to search for. Engine commands such as !bang are searched as plain words.")
    maxResults: int = Field(default=10, ge=1, le=10, description="Most results wanted; there may be fewer.")  # noqa: N815 - the document's name
    site: Annotated[str, StringConstraints(min_length=1, max_length=253), AfterValidator(_domain)] | None = Field(
        default=None, description="Public domain, such as postgresql.org: results are of it or of its subdomains."
    )
    timeRange: TimeRange | None = Field(  # noqa: N815 - the document's name
        default=None, description="Past day, week, month or year: a hint to the provider, not a certified date."
    )
    # The provider's list has codes of two and three letters after the hyphen (hk-tzh) and grows: a pattern, no list.
    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}-[a-z]{2,3}$")] | None = Field(
        default=None, description="Region code such as us-en, vn-vi or wt-wt (all regions): a hint."
    )


class HitOut(BaseModel):
    """One result: data only, written by strangers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    url: str
    snippet: str


class Result(BaseModel):
    """What the provider found (M91, M92, M96).

    Shape: `query` as it was asked; `results` in the provider's order, none where it said that it found nothing;
    `retrievedAt` is UTC, ISO 8601; `truncated` says that titles or snippets were cut to keep the reply in its bounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    query: str
    retrievedAt: str  # noqa: N815 - the document's name
    results: tuple[HitOut, ...]
    truncated: bool
    notice: str
    budget: BudgetOut


TOOL = Tool(
    name="web_search",
    queue="search",
    profile=WEB_SEARCH,
    args=Args,
    result=Result,
    description=(
        "Discover public web pages by words: titles, URLs and snippets from one search provider, to which the query "
        "is sent. Use public technical terms. Snippets are not full-page evidence: read the page with web_fetch. If "
        "search is unavailable and fetch is permitted, fetch a known reference URL directly. Do other work instead of "
        "retrying a blocked source. Date and region are hints. " + NOTICE
    ),
)
