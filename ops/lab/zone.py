"""The map of one private internet: hosts, where they are, what DNS says of them, how their sites behave."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

from ops.lab.answers import Answer, Name, fold, read_name
from ops.lab.engine import SEARCHED
from ops.lab.errors import ZoneWrong
from ops.lab.hostile import HOSTILE
from ops.lab.sites import HONEST

DEFAULT_ZONE = Path(__file__).with_name("zone.toml")
DEFAULT_PORTS = {80: "http", 443: "https"}
# What a port may be: `tcp_silent` accepts and never speaks, a port left out is refused.
PORT_KINDS = frozenset({"http", "https", "tcp_silent"})
CERTIFICATES = frozenset({"good", "expired", "wrong_name", "self_signed", "unknown_ca"})
# The site of hosts that the witness serves, in a process of its own.
COUNTED = "counted"
SITES = frozenset({"", COUNTED, *HONEST, *HOSTILE, *SEARCHED})
OWN_KEYS = frozenset({"about", "site", "listen", "dead", "blackhole", "ports", "certificate", "A", "AAAA", "CNAME"})

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host. `listen` are the addresses it is served at; `dead` refuse, `blackhole` swallow every packet."""

    name: str
    about: str = ""
    dns: Name = field(default_factory=Name)
    listen: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    blackhole: tuple[str, ...] = ()
    ports: Mapping[int, str] = field(default_factory=lambda: DEFAULT_PORTS)
    certificate: str = "good"
    site: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """All hosts by folded name; `pools` are the networks that belong to the lab, everything else is a canary's."""

    hosts: Mapping[str, Host]
    pools: tuple[Network, ...]
    canaries: tuple[str, ...]

    def owned(self) -> frozenset[str]:
        """Addresses outside the pools that hosts are served at all the same."""
        every = (one for host in self.hosts.values() for one in (*host.listen, *host.dead, *host.blackhole))
        return frozenset(one for one in every if not in_pools(one, self.pools))


def in_pools(address: str, pools: tuple[Network, ...]) -> bool:
    """Whether the lab owns this address."""
    place = ip_address(address)
    return any(place in pool for pool in pools if pool.version == place.version)


def fresh_addresses(zone: Zone) -> Iterator[str]:
    """IPv4 addresses of the first pool that no host of `zone` uses, in order."""
    taken = {one for host in zone.hosts.values() for one in (*host.dns.addresses(), *host.listen)}
    first = next(pool for pool in zone.pools if pool.version == 4)
    return (str(one) for one in first.hosts() if str(one) not in taken)


def load(path: Path | None = None) -> Zone:
    """The default zone, with the hosts of `path` laid over it. Raises: ZoneWrong."""
    table = _read(DEFAULT_ZONE)
    hosts = dict(table.get("hosts", {}))
    if path is not None:
        over = _read(path)
        hosts = dict(over.get("hosts", {})) if over.get("alone") else hosts | over.get("hosts", {})
        table |= over
    pools = tuple(ip_network(str(one)) for one in table["pools"])
    bare = {fold(name): read_host(name, entry, pools) for name, entry in hosts.items()}
    zone = Zone(hosts=bare, pools=pools, canaries=tuple(table["canaries"]))
    return _settle(zone)


def read_host(name: str, entry: Mapping[str, Any], pools: tuple[Network, ...]) -> Host:
    """One host entry; keys we do not know ourselves are its site's options. Raises: ZoneWrong."""
    dns = read_name(entry, name)
    dead, blackhole = tuple(entry.get("dead", ())), tuple(entry.get("blackhole", ()))
    here = tuple(one for one in dns.addresses() if in_pools(one, pools) and one not in dead + blackhole)
    host = Host(
        name=fold(name),
        about=str(entry.get("about", "")),
        dns=dns,
        listen=tuple(entry.get("listen", here)),
        dead=dead,
        blackhole=blackhole,
        ports={int(port): str(kind) for port, kind in entry.get("ports", DEFAULT_PORTS).items()},
        certificate=str(entry.get("certificate", "good")),
        site=str(entry.get("site", "")),
        options={key: value for key, value in entry.items() if key not in OWN_KEYS},
    )
    if host.site not in SITES:
        raise ZoneWrong(f"{name}: no site behaves like {host.site!r}")
    if set(host.ports.values()) - PORT_KINDS or host.certificate not in CERTIFICATES:
        raise ZoneWrong(f"{name}: ports {dict(host.ports)} or certificate {host.certificate!r} is none we can be")
    return host


def placed(host: Host, address: str) -> Host:
    """The host at `address`, with DNS saying so."""
    return replace(host, dns=Name(a=(Answer(addresses=(address,)),)), listen=(address,))


def _settle(zone: Zone) -> Zone:
    """Give an address to each host that has a site and no word about where it is."""
    free = fresh_addresses(zone)
    hosts = {
        name: placed(host, next(free)) if host.site and host.dns == Name() and not host.listen else host
        for name, host in zone.hosts.items()
    }
    return replace(zone, hosts=hosts)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ZoneWrong(f"{path}: {problem}") from problem
