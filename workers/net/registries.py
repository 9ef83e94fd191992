"""The address registries: which addresses and names are set apart from the public internet.

The facts live in `address_registries.json` beside this module, with the date of the registries that they state; to
renew them, edit that file. Nothing here asks `ipaddress.is_global`: it misjudges 61 of 152 recorded addresses, and
changes between Python versions.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Generic, TypeVar

Address = IPv4Address | IPv6Address
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of a registry. `public` is False also where the registry says N/A."""

    name: str
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A transition form: its addresses carry an IPv4 address in four of their bytes."""

    name: str
    ipv4_bytes: tuple[int, ...]
    xor: int

    def carried(self, address: IPv6Address) -> IPv4Address:
        """The IPv4 address inside."""
        packed = address.packed
        return IPv4Address(int.from_bytes(bytes(packed[i] for i in self.ipv4_bytes)) ^ self.xor)


class Prefixes(Generic[Row]):
    """The rows of one family by prefix: `at` gives the one with the longest prefix that holds an address."""

    def __init__(self, rows: Iterable[tuple[str, Row]]) -> None:
        by_shift: dict[int, dict[int, Row]] = {}
        for prefix, row in rows:
            network = ip_network(prefix)
            shift = network.max_prefixlen - network.prefixlen
            by_shift.setdefault(shift, {})[int(network.network_address) >> shift] = row
        self._longest_first = sorted(by_shift.items())

    def at(self, address: Address) -> Row | None:
        """The row of the longest prefix, or None."""
        value = int(address)
        for shift, rows in self._longest_first:
            row = rows.get(value >> shift)
            if row is not None:
                return row
        return None


def _entries(rows: list[dict[str, Any]]) -> list[tuple[str, Entry]]:
    return [(row["prefix"], Entry(name=row["name"], public=row["globally_reachable"] is True)) for row in rows]


def _form(row: dict[str, Any]) -> tuple[str, Form]:
    form = Form(name=row["name"], ipv4_bytes=tuple(row["ipv4_bytes"]), xor=int(row.get("xor", "0"), 16))
    return row["prefix"], form


_FACTS: dict[str, Any] = json.loads(files("workers.net").joinpath("address_registries.json").read_text("utf-8"))

AS_OF: str = _FACTS["as_of"]
_IPV4 = Prefixes(_entries(_FACTS["ipv4"] + _FACTS["hosts"]))
_IPV6 = Prefixes(_entries(_FACTS["ipv6"]))
_ALLOCATED = Prefixes((prefix, True) for prefix in _FACTS["ipv6_allocated_unicast"])
_FORMS = Prefixes(_form(row) for row in _FACTS["transition"])
_NAMES: dict[str, str] = {row["name"]: row["why"] for row in _FACTS["names"]}

# RFC 5214 section 6.1: an interface identifier of 00-00-5E-FE or 02-00-5E-FE (and group), then the IPv4 address. It
# may stand under any prefix, so that no registry row can hold it.
_ISATAP_MASK = 0xFCFF_FFFF
_ISATAP_MARK = 0x0000_5EFE
_ISATAP = Form(name="ISATAP", ipv4_bytes=(12, 13, 14, 15), xor=0)


def entry_of(address: Address) -> Entry | None:
    """The special-purpose row that holds an address, or None for an ordinary one."""
    return _IPV4.at(address) if address.version == 4 else _IPV6.at(address)


def is_allocated(address: IPv6Address) -> bool:
    """Whether the address lies in a block that IANA has assigned for global unicast."""
    return _ALLOCATED.at(address) is not None


def form_of(address: IPv6Address) -> Form | None:
    """The transition form that an address is written in, or None. `::` and `::1` are their own rows, not IPv4."""
    if int(address) <= 1:
        return None
    form = _FORMS.at(address)
    if form is None and (int(address) >> 32) & _ISATAP_MASK == _ISATAP_MARK:
        return _ISATAP
    return form


def local_name(name: str) -> str | None:
    """Why a name is no public one, by itself or a parent of it; None when the table does not know it.

    Shape: `name` is a lower-case A-label name without a trailing dot.
    """
    while name:
        why = _NAMES.get(name)
        if why is not None:
            return why
        name = name.partition(".")[2]
    return None
