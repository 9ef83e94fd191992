"""The web of the private internet: which host answers at which address, and who asked for what."""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ops.lab import channel, origin
from ops.lab.answers import fold
from ops.lab.certificates import NAMELESS, Authority
from ops.lab.engine import SEARCHED
from ops.lab.hostile import HOSTILE
from ops.lab.http import Behaviour, Reply, Request, Responder, text
from ops.lab.journal import Journal
from ops.lab.sites import HONEST
from ops.lab.zone import COUNTED, Host, Zone, fresh_addresses, placed, read_host

BEHAVIOURS: Mapping[str, Behaviour] = HONEST | HOSTILE | SEARCHED


@dataclass(slots=True)
class Site:
    """One site at work: how it answers, and how often it has."""

    respond: Responder
    turn: int = field(default=0)


class Web:
    """Hosts, their listeners and their counters, in one process."""

    def __init__(self, zone: Zone, authority: Authority, journal: Journal, *, has_ipv6: bool) -> None:
        self._zone, self._authority, self._journal, self._has_ipv6 = zone, authority, journal, has_ipv6
        self._free: Iterator[str] = fresh_addresses(zone)
        self._sites: dict[str, Site] = {}
        self._told: dict[str, Site] = {}
        self._certificates: dict[str, str] = {}
        self._places: dict[str, Host] = {}
        self._listening: dict[tuple[str, int], asyncio.Server] = {}
        self._holes: list[tuple[socket.socket, socket.socket]] = []
        self._hits: Counter[tuple[str, str]] = Counter()
        self._base = authority.context(NAMELESS, "good")
        self._base.sni_callback = self._choose

    def operations(self) -> Mapping[str, channel.Operation]:
        """The control calls this web answers."""
        return {"site": self._tell, "hits": self._report, "reset": self._reset}

    async def open(self) -> None:
        """Serve every host of the zone but the witness's."""
        for host in self._zone.hosts.values():
            if host.site in BEHAVIOURS:
                self._sites[host.name] = Site(BEHAVIOURS[host.site](host.options))
            if host.site != COUNTED:
                await self.place(host)

    async def place(self, host: Host) -> None:
        """Listen wherever `host` is and nobody listens yet."""
        self._certificates[host.name] = host.certificate
        self._places[host.name] = host
        for address in host.listen:
            for port, kind in host.ports.items():
                await self.listen(address, port, kind)
        for address in host.blackhole:
            self._holes.extend(origin.swallow(address, port) for port in host.ports)

    async def listen(self, address: str, port: int, kind: str) -> None:
        """Open one port, once."""
        if (address, port) in self._listening or (":" in address and not self._has_ipv6):
            return
        server = await origin.listen(address, port, kind, self.answer, self._base)
        self._listening[address, port] = server

    def answer(self, request: Request) -> Reply:
        """The reply of the host the request names."""
        self._hits[request.host, request.target] += 1
        self._journal.write("request", scheme=request.scheme, host=request.host, target=request.target)
        site = self._told.get(request.host) or self._sites.get(request.host)
        if site is None:
            return Reply(wire=text("No such host is served here.\n", status=421), close="fin")
        site.turn += 1
        return site.respond(replace(request, turn=site.turn - 1))

    def _choose(self, line: ssl.SSLSocket | ssl.SSLObject, name: str | None, _base: ssl.SSLContext) -> None:
        host = fold(name or NAMELESS)
        line.context = self._authority.context(host, self._certificates.get(host, "good"))

    async def _tell(self, request: channel.Request) -> dict[str, Any]:
        """`hosts` share one site, described as in a zone file; a host nobody knew gets an address."""
        entry: Mapping[str, Any] = request["entry"]
        site = Site(BEHAVIOURS[entry["site"]](entry))
        places: dict[str, list[str]] = {}
        for name in request["hosts"]:
            host = self._settle(read_host(name, entry, self._zone.pools))
            await self.place(host)
            self._told[host.name] = site
            places[host.name] = list(host.listen)
        return {"places": places}

    def _settle(self, host: Host) -> Host:
        if host.listen:
            return host
        known = self._places.get(host.name)
        if known is not None and known.listen:
            return replace(host, listen=known.listen)
        return placed(host, next(self._free))

    async def _report(self, request: channel.Request) -> dict[str, Any]:
        wanted = fold(request.get("host", ""))
        hits = [
            {"host": host, "target": target, "count": count}
            for (host, target), count in self._hits.items()
            if wanted in ("", host)
        ]
        return {"hits": hits}

    async def _reset(self, _request: channel.Request) -> dict[str, Any]:
        self._told.clear()
        self._hits.clear()
        for name, host in self._zone.hosts.items():
            self._certificates[name] = host.certificate
        for site in self._sites.values():
            site.turn = 0
        return {}


async def serve(web: Web, folder: Path) -> None:
    """Open the web and its control socket, then return; the running loop does the rest."""
    await web.open()
    await channel.listen(folder / "web.sock", web.operations())
