"""One transfer of an exchange, with its callbacks, up to the verdict on what came of it."""

import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from time import monotonic

import pycurl

from schemas.deadline import Deadline
from schemas.errors import Internal, ResponseTooLarge, TlsError, TruncatedBody
from schemas.receipt import Sent
from schemas.reply import Reply
from workers.net.curl_errors import Ending, translate
from workers.net.curl_lane import Ended, Lane
from workers.net.curl_options import Address, Wish, configure
from workers.net.media import known_media_type
from workers.net.receive import Reading, Receiver
from workers.net.trace import Trace

_SILENCE_SECONDS = 1.0  # what a peer that took the connection may be silent in TLS while others wait (X15)
_OVERHEAD_BYTES = 262_144  # TLS handshake and records, honest chunk framing of small bodies
_TCP_INFO_BYTES = 136  # up to and with tcpi_bytes_received, a u64 at 128. Source: linux/tcp.h, since 4.1

_TIMES = (
    ("connect", pycurl.CONNECT_TIME_T),
    ("tls", pycurl.APPCONNECT_TIME_T),
    ("first_byte", pycurl.STARTTRANSFER_TIME_T),
    ("total", pycurl.TOTAL_TIME_T),
)


class Transfer:
    """One transfer with its callbacks. Each callback keeps its reason: libcurl would lose it."""

    def __init__(self, wish: Wish, hop: Deadline, trace: Trace, on_bytes: Callable[[int], None]) -> None:
        self._wish = wish
        self._names = frozenset(map(str, wish.addresses))
        self._hop = hop
        self._trace = trace
        self._receiver = Receiver(wish.limits, on_bytes)
        self._sockets: list[socket.socket] = []
        self._peer: str | None = None
        self._connected_at: float | None = None
        self._failure: BaseException | None = None

    def carry(self, lane: Lane) -> Reply:
        """Run the transfer on a lane and judge what came of it."""
        self._trace.attempts += 1
        curl = pycurl.Curl()
        try:
            self._prepare(curl, lane)
            ended = lane.run(curl, self._tick)
            self._note_peer(curl, ended)
            return self._judge(ended, curl)
        except TruncatedBody:
            self._trace.body = "truncated"
            raise
        except ResponseTooLarge:
            self._trace.body = "over_limit"
            raise
        finally:
            self._note(curl)
            curl.close()
            lane.settle(self._sockets)

    def others(self) -> tuple[Address, ...]:
        """The addresses still worth trying: none once the request left, or when no connection was made at all."""
        if not self._peer or self._trace.sent is not Sent.NOT_SENT or self._receiver.failure or self._failure:
            return ()
        return tuple(address for address in self._wish.addresses if str(address) != self._peer)

    def _note_peer(self, curl: pycurl.Curl, ended: Ended) -> None:
        found = curl.getinfo(pycurl.PRIMARY_IP)
        if found and ended[0] != pycurl.E_COULDNT_CONNECT:
            self._peer = str(ip_address(found))

    def _prepare(self, curl: pycurl.Curl, lane: Lane) -> None:
        lane.stale_pin = configure(curl, self._wish, lane.stale_pin)
        curl.setopt(pycurl.RESOLVER_START_FUNCTION, self._refuse_resolver)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        curl.setopt(pycurl.PREREQFUNCTION, self._before_request)
        curl.setopt(pycurl.HEADERFUNCTION, self._receiver.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self._receiver.on_body)

    def _refuse_resolver(self, *_unused: object) -> int:
        """The resolver is about to look a name up, so the pin missed (X3): stop."""
        self._failure = Internal("The pin did not cover the host.", host=self._wish.place.host)
        return 1

    def _open(self, _purpose: int, target: pycurl.CurlSockAddr) -> socket.socket | int:
        try:
            if not self._allowed(str(target.addr[0]), target.addr[1]):
                self._failure = Internal("A connection to an address outside the pin was stopped.")
                return pycurl.SOCKET_BAD
            made = socket.socket(target.family, target.socktype, target.protocol)
        except BaseException as error:  # noqa: BLE001 - kept and raised after the transfer, whatever it is
            self._failure = error
            return pycurl.SOCKET_BAD
        # libcurl works on a duplicate: this one is the way to end the connection at once, whatever libcurl still plans.
        self._sockets.append(made)
        return made

    def _before_request(self, peer: str, _local: str, port: int, _local_port: int) -> int:
        """The last hook before the request leaves: the peer must be pinned, and from here on it is `sent` (X7)."""
        try:
            if not self._allowed(peer, port):
                self._failure = Internal("A request to an address outside the pin was stopped.")
                return pycurl.PREREQFUNC_ABORT
        except BaseException as error:  # noqa: BLE001 - kept and raised after the transfer, whatever it is
            self._failure = error
            return pycurl.PREREQFUNC_ABORT
        self._peer = self._trace.peer = str(ip_address(peer))
        self._trace.sent = Sent.SENT
        return pycurl.PREREQFUNC_OK

    def _allowed(self, address: str, port: int) -> bool:
        if port != self._wish.place.port:
            return False
        return address in self._names or ip_address(address) in self._wish.addresses

    def _tick(self) -> None:
        """Look up from the transfer. Raises: Cancelled, RequestTimeout."""
        sent = self._trace.sent is Sent.SENT
        self._hop.check("receiving" if sent else "connecting")
        if sent:
            self._bound_framing()
        if sent or self._wish.place.scheme == "http" or len(self._wish.addresses) == 1:
            return
        if self._connected_at is None:
            self._peer = _connected(self._sockets)
            self._connected_at = monotonic() if self._peer else None
        elif monotonic() - self._connected_at > _SILENCE_SECONDS:
            raise TlsError(
                "The site took the connection and said nothing.", host=self._wish.place.host, reason="silent"
            )

    def _bound_framing(self) -> None:
        """Bound what arrives in all: libcurl hides chunk extensions, which need never end."""
        limits = self._wish.limits
        allowed = limits.header_bytes + 2 * limits.wire_bytes + _OVERHEAD_BYTES
        if sum(map(_received_bytes, self._sockets)) > allowed:
            raise ResponseTooLarge("The body's framing is larger than its limit.", reason="framing")

    def _judge(self, ended: Ended, curl: pycurl.Curl) -> Reply:
        receiver = self._receiver
        if reason := self._failure or receiver.failure:
            raise reason
        code, words = ended
        if code and not receiver.enough:
            verify = curl.getinfo(pycurl.SSL_VERIFYRESULT)
            ending = Ending(code=code, words=words, verify=verify, head_ended=receiver.head.ended)
            raise translate(ending, self._wish.place.host)
        body, completeness = receiver.body(_reading(curl))
        if completeness != "none" and receiver.head.chunked():  # it may have come faster than it was looked at
            self._bound_framing()
        self._trace.decoded_bytes = len(body)
        self._trace.body = completeness
        self._trace.body_sha256 = sha256(body).hexdigest() if completeness != "none" else None
        return Reply(
            place=self._wish.place,
            status=receiver.head.status,
            http_version=receiver.head.version,
            headers=tuple(receiver.head.fields),
            content_type=receiver.head.content_type(),
            body=body,
            completeness=completeness,
            wire_bytes=receiver.wire_bytes,
            retrieved_at=datetime.now(UTC),
        )

    def _note(self, curl: pycurl.Curl) -> None:
        trace, receiver = self._trace, self._receiver
        for name, info in _TIMES:
            trace.milliseconds[name] = curl.getinfo(info) / 1000
        trace.header_bytes, trace.wire_bytes = receiver.head.bytes_read, receiver.wire_bytes
        if receiver.head.status:
            trace.status, trace.http_version = receiver.head.status, receiver.head.version
            trace.content_type = known_media_type(receiver.head.content_type())


def _reading(curl: pycurl.Curl) -> Reading:
    length = int(curl.getinfo(pycurl.CONTENT_LENGTH_DOWNLOAD_T))
    return Reading(status=curl.getinfo(pycurl.RESPONSE_CODE), content_length=length if length >= 0 else None)


def _received_bytes(made: socket.socket) -> int:
    """What the kernel took in on a connection, frames and all; nothing where it does not tell (Linux alone does)."""
    if not hasattr(socket, "TCP_INFO"):
        return 0
    with suppress(OSError):
        told = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        if len(told) == _TCP_INFO_BYTES:
            return int.from_bytes(told[-8:], sys.byteorder)
    return 0


def _connected(sockets: list[socket.socket]) -> str | None:
    """The address of the first connection that was made, where one was."""
    for made in sockets:
        try:
            return str(ip_address(made.getpeername()[0]))
        except OSError:
            continue
    return None
