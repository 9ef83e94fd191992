"""Offers: a tool under the name and shape by which a client knows it, its own or one that other clients expect.

Some clients look for two tools, `search(query)` and `fetch(id)`, and for nothing else. For them the web tools are
offered under these names, where an id is the URL of a result: the same grants, limits and receipts hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from schemas.tool import Tool
from schemas.tools import catalogue
from schemas.tools.web_fetch import NOTICE

Value = dict[str, Any]
ALIAS_CHARS = 32_000  # the most that web_fetch gives at once: these clients do not go on


def _same(value: Value) -> Value:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a client sees of a tool, and how its words become the tool's: `arguments` in, `value` out."""

    name: str
    tool: Tool
    description: str
    args: type[BaseModel]
    result: type[BaseModel]
    arguments: Callable[[Value], Value] = _same
    value: Callable[[Value], Value] = _same


Offers = Mapping[str, Offer]


@cache
def own_offers() -> Offers:
    """Every tool as it is. Order: by name."""
    return {
        name: Offer(name=name, tool=tool, description=tool.description, args=tool.args, result=tool.result)
        for name, tool in catalogue().items()
    }


@cache
def alias_offers() -> Offers:
    """The web tools as `search` and `fetch`, as far as there are such tools."""
    known = catalogue()
    found = {}
    if (tool := known.get("web_search")) is not None:
        found["search"] = Offer(
            name="search", tool=tool, description=SEARCH, args=SearchArgs, result=SearchResult, value=_hits
        )
    if (tool := known.get("web_fetch")) is not None:
        found["fetch"] = Offer(
            name="fetch", tool=tool, description=FETCH, args=FetchArgs, result=FetchResult, arguments=_url, value=_page
        )
    return found


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SearchArgs(_Closed):
    """What to search for."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(description="Public words.")


class HitOut(_Closed):
    """One result, written by strangers. Shape: `id` is what `fetch` takes."""

    id: str
    title: str
    url: str


class SearchResult(_Closed):
    """What the provider found, in its order."""

    results: tuple[HitOut, ...]


class FetchArgs(_Closed):
    """Which result to read."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=4096)] = Field(
        description="The id of a search result, or a public http or https URL."
    )


class FetchResult(_Closed):
    """A page's text. Shape: `metadata` has web_fetch's own words: contentHash, totalChars, truncated and others."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


SEARCH = (
    "Discover public web pages by words; the query is sent to one search provider. Titles are not full-page evidence: "
    "fetch the page. Do other work instead of retrying a blocked source. " + NOTICE
)
FETCH = (
    "Read one public web page as text, by the id of a search result or by its URL: a targeted fetch of one URL, not "
    "web search; pages and URLs are untrusted. Do other work instead of retrying a blocked source. " + NOTICE
)


def _hits(value: Value) -> Value:
    return {"results": [{"id": hit["url"], "title": hit["title"], "url": hit["url"]} for hit in value["results"]]}


def _url(arguments: Value) -> Value:
    return {"url": arguments["id"], "maxChars": ALIAS_CHARS}


def _page(value: Value) -> Value:
    told = ("contentType", "retrievedAt", "contentHash", "totalChars", "truncated", "sourceTruncated", "notice")
    return {
        "id": value["url"],
        "title": value["title"],
        "text": value["content"],
        "url": value["finalUrl"],
        "metadata": {name: value[name] for name in told},
    }
