"""The option set of one exchange: a fresh handle that reaches the pinned addresses or nothing.

Every option stands against something seen with pycurl 7.49 on libcurl 8.23: an environment that names a proxy, a
reused connection that beats a new pin, a pin that misses and falls through to the system's resolver.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pycurl

from schemas.destination import SCHEME_PORTS, Destination
from schemas.errors import InvalidArguments, InvalidUrl
from schemas.limits import Limits
from schemas.reply import Ask

USER_AGENT = "Outrider/0.1 (+https://github.com/outrider)"

_CONNECT_SHARE = 0.5  # of what is left: a site that takes longer to say hello would not get its body through either
_CONNECT_SECONDS_MIN = 1.0
_SECOND_LINE_BYTES = 65_536  # libcurl's own bound stands behind ours, which knows the exact byte

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
_VALUE = re.compile(r"[\x20-\x7e\t]*")  # libcurl passes CR and LF through: header injection
# What frames the message, names the host, or is the transport's own to say.
_RESERVED = frozenset(
    {
        *("host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "user-agent", "accept-encoding"),
        *("content-length", "transfer-encoding", "proxy-authorization", "proxy-connection", "range", "if-range"),
    }
)

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One attempt at one place: everything the option set is made of."""

    place: Destination
    addresses: tuple[Address, ...]
    ask: Ask
    limits: Limits
    left_seconds: float
    ca_file: Path


def agree(place: Destination) -> None:
    """Hold libcurl's reading of the URL against ours (X4). Raises: InvalidUrl where they differ."""
    try:
        url = pycurl.CurlUrl(place.href, pycurl.U_DISALLOW_USER)
        scheme, host, port = url.scheme, url.host or "", url.port
    except (pycurl.error, UnicodeError) as error:  # an href is ASCII: a name that is not was never canonical
        raise InvalidUrl("The URL is read differently by two parsers.", reason="parsers") from error
    number = int(port) if port else SCHEME_PORTS.get(scheme or "", 0)
    if (scheme, host.strip("[]").lower(), number) != (place.scheme, place.host, place.port):
        raise InvalidUrl("The URL is read differently by two parsers.", reason="parsers")


def check(ask: Ask) -> None:
    """Refuse what would change the message's frame. Raises: InvalidArguments."""
    if ask.body and ask.method == "GET":
        raise InvalidArguments("A GET request carries no body.")
    for name, value in ask.headers:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InvalidArguments("A request header holds characters that headers cannot hold.")
        if name.lower() in _RESERVED:
            raise InvalidArguments("A request header is the transport's own to set.", name=name.lower())


def configure(curl: pycurl.Curl, wish: Wish, stale_pin: str | None) -> str:
    """Set everything but the callbacks. Gives the name of the pin's entry, for the lane to take out again."""
    host = f"[{wish.place.host}]" if isinstance(wish.place.literal, IPv6Address) else wish.place.host
    entry = f"{host}:{wish.place.port}"
    # A plain entry never expires; one with `+` does, and then resolves for real.
    pins = [f"{entry}:{','.join(map(str, wish.addresses))}"]
    curl.setopt(pycurl.RESOLVE, [f"-{stale_pin}", *pins] if stale_pin else pins)
    curl.setopt(pycurl.URL, wish.place.href)
    for option, value in _FIXED:
        curl.setopt(option, value)
    milliseconds = max(1, int(wish.left_seconds * 1000))
    connect = max(_CONNECT_SECONDS_MIN, wish.left_seconds * _CONNECT_SHARE)
    curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
    curl.setopt(pycurl.CONNECTTIMEOUT_MS, min(milliseconds, int(connect * 1000)))
    curl.setopt(pycurl.MAXFILESIZE_LARGE, wish.limits.wire_bytes + _SECOND_LINE_BYTES)
    curl.setopt(pycurl.CAINFO, str(wish.ca_file))
    _request(curl, wish)
    return entry


_FIXED: tuple[tuple[int, int | str], ...] = (
    (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.FOLLOWLOCATION, 0),
    (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
    (pycurl.HTTP09_ALLOWED, 0),
    (pycurl.HTTP_CONTENT_DECODING, 0),
    (pycurl.PROXY, ""),
    (pycurl.NOPROXY, "*"),
    (pycurl.NETRC, pycurl.NETRC_IGNORED),
    (pycurl.FRESH_CONNECT, 1),
    (pycurl.FORBID_REUSE, 1),
    (pycurl.SSL_SESSIONID_CACHE, 0),  # a resumed session skips the certificate
    (pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2),  # the lowest one: RFC 8996 ended the ones before
    (pycurl.SSL_VERIFYPEER, 1),
    (pycurl.SSL_VERIFYHOST, 2),
    (pycurl.USERAGENT, USER_AGENT),
    (pycurl.NOSIGNAL, 1),  # threads: pycurl#218
    (pycurl.NOPROGRESS, 1),
)


def _request(curl: pycurl.Curl, wish: Wish) -> None:
    coding = "gzip" if wish.limits.gzip else "identity"
    own = [f"Accept-Encoding: {coding}", "Expect:"]  # no 100-continue dance: its answer is one more thing to wait for
    # libcurl sends a header without a value only when it ends in a semicolon.
    asked = [f"{name}: {value}" if value.strip() else f"{name};" for name, value in wish.ask.headers]
    curl.setopt(pycurl.HTTPHEADER, [*own, *asked])
    if wish.ask.method == "POST":
        curl.setopt(pycurl.POST, 1)
        curl.setopt(pycurl.POSTFIELDSIZE_LARGE, len(wish.ask.body))
        curl.setopt(pycurl.POSTFIELDS, wish.ask.body)
