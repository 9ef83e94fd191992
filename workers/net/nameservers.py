"""Nameservers: whom to ask."""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dns.resolver import NoResolverConfiguration
from dns.resolver import Resolver as Configuration

from schemas.errors import DnsFailure

RESOLV_CONF = "/etc/resolv.conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nameserver:
    """One server as a socket wants it."""

    family: socket.AddressFamily
    address: tuple[Any, ...]

    @classmethod
    def at(cls, address: str, port: int) -> "Nameserver":
        """The server at a numeric address, which may carry a zone id. Raises: OSError for a name."""
        found = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
        return cls(family=found[0][0], address=found[0][4])


class Nameservers:
    """The servers to ask: the given ones, or the system's, read again when its file has changed."""

    def __init__(self, given: tuple[str, ...], port: int, resolv_conf: str) -> None:
        self._port = port
        self._resolv_conf = resolv_conf
        self._given = tuple(Nameserver.at(address, port) for address in given)
        self._read: tuple[tuple[int, ...], tuple[Nameserver, ...]] = ((), ())

    def now(self) -> tuple[Nameserver, ...]:
        """The servers, in the order to ask them. Raises: DnsFailure when the system names none."""
        if self._given:
            return self._given
        try:
            status = Path(self._resolv_conf).stat()
            seen = (status.st_mtime_ns, status.st_ino, status.st_size)
            if self._read[0] != seen:
                self._read = (seen, self._from_file())
        except (OSError, NoResolverConfiguration) as error:
            raise DnsFailure("This machine names no DNS server.", reason="no_nameserver") from error
        return self._read[1]

    def _from_file(self) -> tuple[Nameserver, ...]:
        named = Configuration(filename=self._resolv_conf).nameservers
        return tuple(Nameserver.at(str(address), self._port) for address in named)
