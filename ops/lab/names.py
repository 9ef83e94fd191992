"""The DNS server of the private internet, which lies on command: dnspython for the wire, asyncio for the waiting."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from ops.lab import channel
from ops.lab.answers import Answer, Name, fold, read_name
from ops.lab.journal import Journal
from ops.lab.zone import Zone

PORT = 53
# Longer chains than any resolver follows still fit in one answer; a loop stops when it comes round.
CHAIN_LINKS = 64
# Packing costs a quarter of a millisecond, twice a fetch: a benchmark would feel it.
KEPT_PACKETS = 4096

Links = tuple[tuple[str, str], ...]


class Names:
    """What every name says now, and what was asked."""

    def __init__(self, zone: Zone, journal: Journal) -> None:
        self._zone = {host.name: host.dns for host in zone.hosts.values()}
        self._told: dict[str, Name] = {}
        self._turns: Counter[tuple[str, str]] = Counter()
        self._asked: list[dict[str, str]] = []
        self._journal = journal

    def operations(self) -> Mapping[str, channel.Operation]:
        """The control calls this server answers."""
        return {"dns": self._tell, "queries": self._queries, "reset": self._reset}

    async def _tell(self, request: channel.Request) -> dict[str, Any]:
        name = fold(request["name"])
        self._told[name] = read_name(request, name)
        for kind in ("A", "AAAA"):
            del self._turns[name, kind]
        return {}

    async def _queries(self, request: channel.Request) -> dict[str, Any]:
        wanted = fold(request.get("name", ""))
        return {"queries": [one for one in self._asked if wanted in ("", one["name"])]}

    async def _reset(self, _request: channel.Request) -> dict[str, Any]:
        self._told.clear()
        self._turns.clear()
        self._asked.clear()
        return {}

    def reply(self, wire: bytes, transport: str) -> tuple[bytes, float]:
        """The packet to send and the seconds to wait before it; an empty packet is silence."""
        number, asked = int.from_bytes(wire[:2]), wire[2:]
        name, kind = _question(asked)
        self._asked.append({"name": name, "type": kind, "transport": transport})
        self._journal.write("dns", name=name, type=kind, transport=transport)
        links, last = self._chain(name)
        answer = self._answer(last, kind)
        if answer.silent:
            return b"", 0.0
        packet = _packet(asked, links, last, answer, transport)
        return (number ^ int.from_bytes(packet[:2])).to_bytes(2) + packet[2:], answer.delay_seconds

    def _chain(self, name: str) -> tuple[Links, str]:
        """The CNAME links from `name`, and the name they end at."""
        links: list[tuple[str, str]] = []
        while (entry := self._find(name)) and entry.cname and len(links) < CHAIN_LINKS:
            links.append((name, entry.cname))
            name = entry.cname
            if any(name == start for start, _ in links):
                break
        return tuple(links), name

    def _find(self, name: str) -> Name | None:
        return self._told.get(name) or self._zone.get(name)

    def _answer(self, name: str, kind: str) -> Answer:
        entry = self._find(name)
        if entry is None:
            return Answer(rcode="NXDOMAIN")
        turns = {"A": entry.a, "AAAA": entry.aaaa}.get(kind, (Answer(),))
        turn = self._turns[name, kind]
        self._turns[name, kind] += 1
        return turns[min(turn, len(turns) - 1)]


@lru_cache(maxsize=KEPT_PACKETS)
def _question(asked: bytes) -> tuple[str, str]:
    question = dns.message.from_wire(b"\0\0" + asked).question[0]
    return fold(question.name.to_text()), dns.rdatatype.to_text(question.rdtype)


@lru_cache(maxsize=KEPT_PACKETS)
def _packet(asked: bytes, links: Links, last: str, answer: Answer, transport: str) -> bytes:
    """The reply to a question numbered zero."""
    query = dns.message.from_wire(b"\0\0" + asked)
    return _spoiled(_message(query, links, last, answer), answer.spoil, transport)


def _message(query: dns.message.Message, links: Links, last: str, answer: Answer) -> dns.message.Message:
    message = dns.message.make_response(query, recursion_available=True)
    message.set_rcode(dns.rcode.from_text(answer.rcode))
    for start, end in links:
        message.answer.append(dns.rrset.from_text(f"{start}.", 60, "IN", "CNAME", f"{end}."))
    family = query.question[0].rdtype
    if answer.addresses:
        kind = dns.rdatatype.to_text(family)
        message.answer.append(dns.rrset.from_text(f"{last}.", answer.ttl_seconds, "IN", kind, *answer.addresses))
    return message


def _spoiled(message: dns.message.Message, spoil: str, transport: str) -> bytes:
    """The message's bytes, damaged as asked."""
    if spoil == "truncated_always" or (spoil == "truncated" and transport == "udp"):
        message.flags |= dns.flags.TC
        message.answer.clear()
    if spoil == "wrong_id":
        message.id ^= 0xFFFF
    if spoil == "wrong_question":
        asked = message.question[0]
        message.question[0] = dns.rrset.RRset(dns.name.from_text("other.example."), asked.rdclass, asked.rdtype)
    # Addresses keep the order of the zone: a dead one that is first stays first.
    wire = message.to_wire(max_size=65535, want_shuffle=False)
    if spoil == "garbage":
        return wire[:2] + b"\xff" * 40
    if spoil == "cut":
        return wire[: len(wire) // 2]
    if spoil == "empty":
        return wire[:12]
    # RFC 6891: without EDNS an asker takes 512 bytes; an honest server says so when the answer outgrows the packet.
    if transport == "udp" and len(wire) > max(512, message.request_payload):
        message.flags |= dns.flags.TC
        message.answer.clear()
        return message.to_wire()
    return wire


class _Udp(asyncio.DatagramProtocol):
    """One datagram, one answer."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._line: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._line = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        with suppress(dns.exception.DNSException, IndexError):
            wire, delay = self._names.reply(data, "udp")
            if wire and self._line:
                asyncio.get_running_loop().call_later(delay, self._line.sendto, wire, addr)


async def _converse(names: Names, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Questions over TCP, each with its length before it (RFC 7766)."""
    with suppress(ConnectionError, asyncio.IncompleteReadError, dns.exception.DNSException, IndexError):
        while True:
            length = int.from_bytes(await reader.readexactly(2))
            wire, delay = names.reply(await reader.readexactly(length), "tcp")
            await asyncio.sleep(delay)
            if not wire:
                await reader.read()  # silence, until the asker hangs up
                break
            writer.write(len(wire).to_bytes(2) + wire)
            await writer.drain()
    writer.close()


async def serve(zone: Zone, address: str, folder: Path, journal: Journal) -> None:
    """Bind UDP, TCP and the control socket, then return; the running loop does the rest."""
    names = Names(zone, journal)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: _Udp(names), (address, PORT))
    await asyncio.start_server(lambda reader, writer: _converse(names, reader, writer), address, PORT)
    await channel.listen(folder / "names.sock", names.operations())
