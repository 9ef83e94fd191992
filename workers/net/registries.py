"""The address registries: which addresses and names are set apart from the public internet.

The facts live in `address_registries.json` beside this module, with the date of the registries that they state; to
renew them, edit that file. Nothing here asks `ipaddress.is_global`: it misjudges 61 of 152 recorded addresses, and
changes between Python versions.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of a registry. `public` is False also where the registry says N/A."""

    name: str
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A transition form: an IPv6 prefix whose addresses carry an IPv4 address in four of their bytes."""

    name: str
    ipv4_bytes: tuple[int, ...]
    xor: int

    def carried(self, address: IPv6Address) -> IPv4Address:
        """The IPv4 address inside."""
        packed = address.packed
        return IPv4Address(int.from_bytes(bytes(packed[i] for i in self.ipv4_bytes)) ^ self.xor)


class Prefixes[Row]:
    """What stands at the longest prefix that holds an address."""


type Table = tuple[tuple[int, dict[int, Entry]], ...]
