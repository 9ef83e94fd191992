"""A nameserver on loopback that lies on command: over UDP and TCP, per name and family, in sequences."""

import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

UDP_BYTES = 512  # RFC 1035 section 2.3.4


@dataclass(frozen=True, kw_only=True)
class Says:
    """One reply: what it says, and how it lies while saying it.

    `manner`: plain; silent (never answers); cut (TC over UDP, whole over TCP); junk (no DNS message); torn (the true
    reply without its last bytes); junk_then_truth; other_id; other_name; refusing_tcp (TC, then TCP is closed at once).
    """

    answers: tuple[str, ...] = ()
    rcode: str = "NOERROR"
    cname: tuple[str, ...] = ()
    delay_seconds: float = 0.0
    manner: Literal[
        "plain", "silent", "cut", "junk", "torn", "junk_then_truth", "other_id", "other_name", "refusing_tcp"
    ] = "plain"


Zone = Mapping[tuple[str, str], Says | Sequence[Says]]
NOBODY = Says(rcode="NXDOMAIN")


@dataclass
class LyingNames:
    """The server as a test holds it: where it listens, and every question that reached it as (name, family, way)."""

    zone: Zone
    port: int = 0
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    was_asked: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, family: str) -> int:
        """How often a family was asked for, over either way."""
        return sum(1 for _, asked, _ in self.asked if asked == family)

    def hear(self, wire: bytes, way: str) -> tuple[Says, list[bytes]]:
        """What to say to a query, and the messages that say it."""
        query = dns.message.from_wire(wire)
        name = query.question[0].name.to_text(omit_final_dot=True)
        family = dns.rdatatype.to_text(query.question[0].rdtype)
        with self.lock:
            earlier = sum(1 for asked in self.asked if asked[:2] == (name, family))
            self.asked.append((name, family, way))
        self.was_asked.set()
        says = self.zone.get((name, family), NOBODY)
        if not isinstance(says, Says):
            says = says[min(earlier, len(says) - 1)]
        self.closing.wait(says.delay_seconds)
        return says, _messages(query, says, way)


def _messages(query: dns.message.Message, says: Says, way: str) -> list[bytes]:
    truth = _reply(query, says)
    wire = truth.to_wire(max_size=65_535, want_shuffle=False)  # the order is the test's, not chance's
    if way == "udp" and (says.manner in {"cut", "refusing_tcp"} or len(wire) > UDP_BYTES):
        short = dns.message.make_response(query)
        short.flags |= dns.flags.TC
        return [short.to_wire()]
    if says.manner == "other_id":
        return [(query.id ^ 1).to_bytes(2) + wire[2:]]
    if says.manner == "other_name":
        other = dns.message.make_query("other.example.", query.question[0].rdtype, id=query.id)
        return [_reply(other, says).to_wire()]
    lies = {"silent": [], "junk": [b"\x00\x01junk"], "torn": [wire[:-3]], "junk_then_truth": [wire[:-3], wire]}
    return lies.get(says.manner, [wire])


def _reply(query: dns.message.Message, says: Says) -> dns.message.Message:
    reply = dns.message.make_response(query, recursion_available=True)
    reply.set_rcode(dns.rcode.from_text(says.rcode))
    owner = query.question[0].name
    for alias in says.cname:
        rows = dns.rrset.from_text(owner, 60, "IN", "CNAME", f"{alias}.")
        reply.answer.append(rows)
        owner = next(iter(rows)).target
    if says.answers:
        family = dns.rdatatype.to_text(query.question[0].rdtype)
        plain = [address.partition("%")[0] for address in says.answers]
        reply.answer.append(dns.rrset.from_text(owner, 60, "IN", family, *plain))
    return reply


class _Udp(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        wire, sock = self.request
        for message in self.server.names.hear(wire, "udp")[1]:
            sock.sendto(message, self.client_address)


class _Tcp(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        size = int.from_bytes(self.rfile.read(2))
        says, messages = self.server.names.hear(self.rfile.read(size), "tcp")
        if says.manner != "refusing_tcp":
            for message in messages:
                self.wfile.write(len(message).to_bytes(2) + message)


@contextmanager
def lying_names(zone: Zone, *, address: str = "127.0.0.1", port: int = 0) -> Iterator[LyingNames]:
    """A running server with that zone; names that the zone does not hold do not exist."""
    names = LyingNames(zone=zone)
    udp, tcp = _servers((address, port))
    names.port = udp.server_address[1]
    threads = []
    for server in (udp, tcp):
        server.names = names
        server.daemon_threads, server.block_on_close = True, False
        threads.append(threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}))
        threads[-1].start()
    try:
        yield names
    finally:
        names.closing.set()
        for server, thread in zip((udp, tcp), threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


def _servers(place: tuple[str, int]) -> tuple[socketserver.ThreadingUDPServer, socketserver.ThreadingTCPServer]:
    while True:
        udp = socketserver.ThreadingUDPServer(place, _Udp)
        try:
            return udp, socketserver.ThreadingTCPServer(udp.server_address, _Tcp)
        except OSError:  # somebody holds the same number over TCP
            udp.server_close()
            if place[1]:
                raise


@contextmanager
def closed_port() -> Iterator[int]:
    """A UDP port at which nobody listens, so that the kernel answers queries with port unreachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    yield port
