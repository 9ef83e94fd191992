"""Destinations: a URL as a parsed place, in its one canonical spelling."""

import re
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, cast

from ada_url import URL, HostType

from schemas.errors import CredentialsInUrl, InvalidUrl, UnsupportedScheme

Scheme = Literal["http", "https"]

SCHEME_PORTS: dict[str, int] = {"http": 80, "https": 443}

# WHATWG deletes tabs and newlines silently; no honest source writes them, and parsers that keep them disagree.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# WHATWG keeps names that DNS cannot hold (`a..com`, `a{b}.com`, 64-octet labels). Underscores exist in real names.
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_NAME_OCTETS = 253  # RFC 1035 section 2.3.4: 255 on the wire, less the first length and the root


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A parsed place: the WHATWG canonical form of a URL, with its fragment kept apart.

    Shape: `href` is ASCII, without the fragment; `host` is the A-label name exactly as `href` spells it (one trailing
    dot kept) or an IP literal without brackets; `port` is the effective one; `literal` is set when the host is an
    address; `fragment` is canonical, without "#", and makes no other place: it is never sent, compared or digested.
    Source: url.spec.whatwg.org through ada-url; RFC 1035 for what a name may hold.
    """

    href: str
    scheme: Scheme
    host: str
    port: int
    literal: IPv4Address | IPv6Address | None = None
    fragment: str = field(default="", compare=False, repr=False)

    @classmethod
    def parse(cls, url: str, *, base: "Destination | None" = None) -> "Destination":
        """The place that a URL names, read against `base` when it is relative.

        Raises: InvalidUrl, UnsupportedScheme, CredentialsInUrl.
        """
        parsed = _read(url, base)
        scheme = parsed.protocol[:-1]
        if scheme not in SCHEME_PORTS:
            raise UnsupportedScheme("The URL's scheme is neither http nor https.")
        if parsed.username or parsed.password:
            raise CredentialsInUrl("The URL carries a user name or a password.")
        host, literal = _host_of(parsed)
        port = parsed.port
        return cls(
            href=parsed.href.partition("#")[0],
            scheme=cast("Scheme", scheme),
            host=host,
            port=int(port) if port else SCHEME_PORTS[scheme],
            literal=literal,
            fragment=parsed.hash.removeprefix("#"),
        )

    @property
    def name(self) -> str:
        """The host as policy reads it: without the one trailing dot that makes a name absolute."""
        return self.host.removesuffix(".")

    def origin(self) -> str:
        """`scheme://host`, with `:port` when it is not the scheme's own; IPv6 in brackets."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        port = "" if self.port == SCHEME_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    def href_sha256(self) -> str:
        """The digest that stands for this place where its path may not be kept. Shape: 64 hex digits."""
        return sha256(self.href.encode()).hexdigest()

    def request_target(self) -> str:
        """What the request line names: path and query (RFC 9112 origin-form)."""
        return self.href[len(self.origin()) :]

    def query(self) -> str:
        """The query string without its question mark."""
        return self.href.partition("?")[2]


def _read(url: str, base: Destination | None) -> URL:
    if _CONTROL.search(url):
        raise InvalidUrl("The URL holds a control character.")
    try:
        return URL(url, base.href if base else None)
    except ValueError as error:  # also UnicodeEncodeError: a lone surrogate has no UTF-8 form
        raise InvalidUrl("The URL is not an absolute http or https URL.") from error


def _host_of(parsed: URL) -> tuple[str, IPv4Address | IPv6Address | None]:
    host = parsed.hostname
    if parsed.host_type is HostType.IPV6:
        host = host[1:-1]
        return host, IPv6Address(host)
    if parsed.host_type is HostType.IPV4:
        return host, IPv4Address(host)
    if not _NAME.fullmatch(host) or len(host.removesuffix(".")) > _NAME_OCTETS:
        raise InvalidUrl("The URL's host is not a name that DNS can hold.")
    return host, None
