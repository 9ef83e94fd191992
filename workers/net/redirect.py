"""The next place of a walk: what a redirect's Location names, where it may be followed."""

from dataclasses import replace
from urllib.parse import quote_from_bytes

from schemas.destination import Destination
from schemas.errors import RedirectBlocked, Refused
from schemas.limits import Limits
from schemas.reply import Ask, Reply

_LOCATION_CHARS = 8_192  # no browser's address bar shows more, and no profile takes a longer URL
# Everything ASCII passes as it is: the URL parser reads it. Other bytes are Latin-1 here and get their percent form.
_ASCII = bytes(range(0x80))
_SEE_OTHER = 303
_REWRITTEN = (301, 302)
# What may cross to another origin: it says nothing about who asks.
_HARMLESS = frozenset({"accept", "accept-language", "content-type"})


def next_place(reply: Reply) -> Destination:
    """The place that a redirect names; the fragment that was asked for stays, unless it names its own.

    Raises: RedirectBlocked without exactly one usable Location.
    Source: RFC 9110 section 10.2.2; fetch.spec.whatwg.org, location URL.
    """
    location = _location(reply)
    try:
        place = Destination.parse(location, base=reply.place)
    except Refused as error:
        raise _blocked("The redirect's target is not a place that is fetched.", error.code) from error
    return place if "#" in location else replace(place, fragment=reply.place.fragment)


def judge_step(came_from: Destination, place: Destination, limits: Limits) -> None:
    """Let pass a step that the profile follows. Raises: RedirectBlocked."""
    if came_from.scheme == "https" and place.scheme == "http" and not limits.downgrade_allowed:
        raise _blocked("The redirect leads from https to http.", "downgrade")
    if limits.redirect_scope == "same_target" and _target(place) != _target(came_from):
        raise _blocked("The redirect leads away from the approved target.", "scope")


def next_ask(ask: Ask, reply: Reply, place: Destination) -> Ask:
    """What is sent to the next place: the method as browsers change it, and nothing personal to another origin."""
    if ask.method == "POST" and (reply.status == _SEE_OTHER or reply.status in _REWRITTEN):
        kept = tuple((name, value) for name, value in ask.headers if not name.lower().startswith("content-"))
        ask = replace(ask, method="GET", body=b"", headers=kept)
    if place.origin() == reply.place.origin():
        return ask
    return replace(ask, headers=tuple(pair for pair in ask.headers if pair[0].lower() in _HARMLESS))


def _location(reply: Reply) -> str:
    values = reply.values("location")
    if not any(values):
        raise _blocked("The redirect names no target.", "missing_location")
    if len(set(values)) > 1:
        raise _blocked("The redirect names several targets.", "multiple_locations")
    if len(values[0]) > _LOCATION_CHARS:
        raise _blocked("The redirect's target is too long.", "location_too_long")
    return quote_from_bytes(values[0].encode("latin-1"), safe=_ASCII)


def _target(place: Destination) -> tuple[str, str, int]:
    return (place.scheme, place.host, place.port)


def _blocked(message: str, reason: str) -> RedirectBlocked:
    return RedirectBlocked(message, reason=reason)
