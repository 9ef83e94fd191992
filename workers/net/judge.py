"""The judge: whether a place, or one address of it, is on the public internet."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal

from schemas.destination import SCHEME_PORTS, Destination
from schemas.errors import AddressRefused, SecretInUrl, UnsupportedPort
from schemas.limits import Limits
from workers.net.registries import Address, entry_of, form_of, is_allocated, local_name
from workers.net.secret_names import secret_parameter

Diagnosis = Literal["fake_ip_dns", "dns64"]

OPAQUE = "The host is not a public destination."

_FAKE_IP = ip_network("198.18.0.0/15")  # RFC 2544 benchmarking; the pool that fake-IP proxies hand out
_VERDICTS_KEPT = 4096  # a few hundred bytes each: the addresses of the hosts that a busy worker sees in an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one address.

    Shape: `reason` is "public" or the registry's name of what it is instead; `diagnosis` is what an address of this
    kind says about the network when DNS gives it for a public name.
    """

    address: str
    public: bool
    reason: str
    diagnosis: Diagnosis | None = None


def judge_place(place: Destination, limits: Limits) -> None:
    """Let pass what can be said to be public before DNS. Raises: UnsupportedPort, AddressRefused, SecretInUrl."""
    judge_port(place, limits)
    judge_host(place)
    if secret_parameter(place.query()):
        raise SecretInUrl("The URL carries a secret or signed query parameter.")


def judge_port(place: Destination, limits: Limits) -> None:
    """Let pass the scheme's own port, or any where the profile says so. Raises: UnsupportedPort."""
    own = SCHEME_PORTS[place.scheme]
    if place.port != own and (limits.ports == "scheme" or place.port == 0):
        raise UnsupportedPort(f"The URL names a port other than {place.scheme}'s own.", allowed=own)


def judge_host(place: Destination) -> None:
    """Let pass a public literal, or a name that is not set apart. Raises: AddressRefused."""
    if place.literal is not None:
        refused = not judge_address(place.literal).public
    else:
        # A single label is a machine on somebody's own network; no public suffix serves web pages itself.
        refused = "." not in place.name or local_name(place.name) is not None
    if refused:
        raise AddressRefused(OPAQUE)


def judge_literal(text: str) -> Verdict:
    """The judgement of an address in writing. What is no canonical literal is refused, never skipped."""
    try:
        return judge_address(ip_address(text))
    except ValueError:
        return Verdict(address=text, public=False, reason="not a canonical address")


@lru_cache(maxsize=_VERDICTS_KEPT)
def judge_address(address: Address) -> Verdict:
    """The judgement of one address by the registries: longest prefix first, N/A counts as not public."""
    if isinstance(address, IPv4Address):
        return _judge_ipv4(address)
    return _judge_ipv6(address)


def _judge_ipv4(address: IPv4Address) -> Verdict:
    entry = entry_of(address)
    if entry is None or entry.public:
        return Verdict(address=str(address), public=True, reason="public")
    return _refused(address, entry.name, "fake_ip_dns" if address in _FAKE_IP else None)


def _judge_ipv6(address: IPv6Address) -> Verdict:
    if address.scope_id is not None:
        return _refused(address, "zone id")
    form = form_of(address)
    if form is not None:
        inner = judge_address(form.carried(address))
        translated = inner.public and form.name.startswith("NAT64")
        return _refused(address, f"{form.name} of {inner.address} ({inner.reason})", "dns64" if translated else None)
    entry = entry_of(address)
    if entry is not None and not entry.public:
        return _refused(address, entry.name)
    if not is_allocated(address):
        return _refused(address, "unallocated")
    return Verdict(address=str(address), public=True, reason="public")


def _refused(address: Address, reason: str, diagnosis: Diagnosis | None = None) -> Verdict:
    return Verdict(address=str(address), public=False, reason=reason, diagnosis=diagnosis)
