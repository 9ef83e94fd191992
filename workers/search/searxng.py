"""SearXNG's JSON answer as a provider: a metasearch server of the deployment's own, at one approved address.

Facts of 2026-11 from its public source: `/search` takes a form with `format=json`, which its settings must allow (403
otherwise); `results` of `url`, `title`, `content`; `unresponsive_engines` names engines that did not answer, each with
a reason. It marks no advertisements and has no limit of its own for a query.
"""

import json
from collections.abc import Sequence
from typing import Any

from schemas.destination import Destination
from schemas.errors import Refused, SourceBlocked, SourceChanged, SourceUnavailable
from schemas.profiles import WEB_SEARCH
from workers.extract.clean import clean
from workers.net.judge import judge_place
from workers.search.provider import Hit, Provider, Wanted

NAME = "searxng"
QUERY_CHARS = 1_300  # what the arguments can make: 1,000 characters, and a site of 253 with its word

_RANGES = {"d": "day", "w": "week", "m": "month", "y": "year"}
_EVERYWHERE = "wt"  # DuckDuckGo's word for all regions
# "Suspended: " stands before each of an engine's reasons for as long as it is left alone, also before "timeout".
_TURNED_AWAY = ("captcha", "access denied", "too many requests")


class EndpointUnfit(ValueError):
    """The deployment's address of a SearXNG cannot be used; the message says why."""


def searxng_at(url: str) -> Provider:
    """The provider at a server's address, with or without `/search`. Raises: EndpointUnfit."""
    try:
        given = Destination.parse(url)
        if given.scheme != "https" or given.query() or given.fragment:
            raise EndpointUnfit("OUTRIDER_SEARXNG_URL is https://HOST/ with no query")
        path = given.request_target().rstrip("/").removesuffix("/search")
        endpoint = Destination.parse(f"{given.origin()}{path}/search")
        judge_place(endpoint, WEB_SEARCH.limits)
    except Refused as error:
        raise EndpointUnfit(f"OUTRIDER_SEARXNG_URL is not a public https address: {error.code}") from None
    return Provider(
        name=NAME, endpoint=endpoint, accept="application/json", query_chars=QUERY_CHARS, form=_form, read=read_answer
    )


def _form(query: str, wanted: Wanted) -> dict[str, str]:
    fields = {"q": query, "format": "json", "pageno": "1", "language": _language(wanted.region)}
    return fields | ({"time_range": _RANGES[wanted.time_range]} if wanted.time_range else {})


def _language(region: str | None) -> str:
    """`us-en` as `en-US`: the language, then the country."""
    country, _, language = (region or "").partition("-")
    return f"{language}-{country.upper()}" if language and country != _EVERYWHERE else "all"


def read_answer(body: bytes, content_type: str) -> tuple[Hit, ...]:
    """The results of an answer, none where all engines answered and found nothing.

    Raises: SourceBlocked, SourceChanged, SourceUnavailable.
    """
    del content_type  # JSON is UTF-8 whatever a header says (RFC 8259 section 8.1)
    answer = _parsed(body)
    entries = answer.get("results")
    if not isinstance(entries, list):
        raise _unrecognised()
    hits = tuple(hit for entry in entries if (hit := _hit(entry)) is not None)
    if entries and not hits:
        raise _unrecognised()
    if not hits:
        _insist_on_answers(answer.get("unresponsive_engines") or ())
    return hits


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _unrecognised() from None
    if not isinstance(answer, dict):
        raise _unrecognised()
    return answer


def _hit(entry: Any) -> Hit | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        return None
    return Hit(_text(entry.get("title")), clean(entry["url"]), _text(entry.get("content")))


def _insist_on_answers(unresponsive: Sequence[Any]) -> None:
    """Let an empty answer pass only where no engine was missing from it."""
    if not unresponsive:
        return
    reasons = json.dumps(unresponsive).lower()
    if any(reason in reasons for reason in _TURNED_AWAY):
        raise SourceBlocked("The search provider's engines were turned away.", provider=NAME, reason="engines")
    raise SourceUnavailable("The search provider's engines did not answer.", provider=NAME, reason="engines")


def _unrecognised() -> SourceChanged:
    return SourceChanged("The search provider's answer is not recognised.", provider=NAME, reason="json")


def _text(value: Any) -> str:
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
