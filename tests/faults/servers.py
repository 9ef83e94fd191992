"""Faults of origins, as functions of a connected socket, with the loopback origin that commits them."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from time import monotonic

Fault = Callable[[socket.socket], None]

_PATIENCE_SECONDS = 10.0
_LINGER_RESET = struct.pack("ii", 1, 0)  # close() then sends RST
_SHELF = 8  # connections that fill a backlog of nothing


def answer(wire: bytes) -> Fault:
    """Send these bytes; the origin then closes with FIN."""
    return lambda sock: sock.sendall(wire)


def page(body: bytes = b"hello", *fields: str, status: str = "200 OK") -> bytes:
    """A well-framed response."""
    head = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode("latin-1") + body


def redirect(location: str, status: int = 302, *fields: str) -> bytes:
    """A redirect. Shape: `location` is sent as UTF-8."""
    extra = "".join(f"{field}\r\n" for field in fields)
    return f"HTTP/1.1 {status} Moved\r\n{extra}Location: {location}\r\nContent-Length: 0\r\n\r\n".encode()


def reset_after(wire: bytes) -> Fault:
    """Send these bytes, then RST."""

    def fault(sock: socket.socket) -> None:
        sock.sendall(wire)
        peer_left(sock, 0.05)  # give the bytes a way out: RST discards what is still queued on both sides
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)

    return fault


def hold_after(wire: bytes = b"") -> Fault:
    """Send these bytes, then keep the connection open and silent until the other side ends it."""

    def fault(sock: socket.socket) -> None:
        sock.sendall(wire)
        peer_left(sock, _PATIENCE_SECONDS)

    return fault


def drip(head: bytes, piece: bytes, every_seconds: float) -> Fault:
    """Send the head, then one piece again and again, slowly, until the other side ends it."""

    def fault(sock: socket.socket) -> None:
        sock.sendall(head)
        ends_at = monotonic() + _PATIENCE_SECONDS
        while not peer_left(sock, every_seconds) and monotonic() < ends_at:
            sock.sendall(piece)

    return fault


def endless(head: bytes, piece: bytes) -> Fault:
    """Send the head, then one piece as fast as it goes until the other side ends it."""

    def fault(sock: socket.socket) -> None:
        sock.sendall(head)
        for block in repeat(piece):
            sock.sendall(block)

    return fault


def in_turn(*faults: Fault) -> Fault:
    """One fault a connection, in this order; the last one for all that follow."""
    left = iter(faults)

    def fault(sock: socket.socket) -> None:
        next(left, faults[-1])(sock)

    return fault


def peer_left(sock: socket.socket, seconds: float) -> bool:
    """Read and drop for that long; true as soon as the other side ended the connection."""
    ends_at = monotonic() + seconds
    try:
        while (left := ends_at - monotonic()) > 0:
            sock.settimeout(left)
            if not sock.recv(65_536):
                return True
    except TimeoutError:
        pass
    except OSError:
        return True
    with suppress(OSError):
        sock.settimeout(_PATIENCE_SECONDS)
    return False


class Origin:
    """A server on loopback: reads one request a connection, writes it down, commits its fault, closes.

    Shape: `requests` are the heads as they came; `connections` counts those that were accepted; `left` is set when
    the other side of a connection was seen to end it.
    """

    def __init__(self, fault: Fault, *, tls: ssl.SSLContext | None, reads: bool, address: str, port: int) -> None:
        self._fault, self._tls, self._reads = fault, tls, reads
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, port), family=family)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.address = address
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = threading.Event()
        self._start(self._accept)

    def close(self) -> None:
        """Stop listening, end what is open, wait for the threads."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._listener.close()
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                self._open.append(sock)
                self._start(self._serve, sock)

    def _serve(self, raw: socket.socket) -> None:
        sock = raw
        with suppress(OSError):
            raw.settimeout(_PATIENCE_SECONDS)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                sock = self._tls.wrap_socket(raw, server_side=True, suppress_ragged_eofs=True)
            if not self._reads or self._read(sock):
                self._fault(sock)
        with suppress(OSError):
            sock.close()
        self.left.set()

    def _read(self, sock: socket.socket) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = sock.recv(65_536)
            if not piece:
                return False
            head += piece
        self.requests.append(head)
        return True


@contextmanager
def origin(
    fault: Fault,
    *,
    tls: ssl.SSLContext | None = None,
    reads: bool = True,
    address: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[Origin]:
    """An origin that commits this fault on each connection. `reads` off: before a request or a handshake was read."""
    made = Origin(fault, tls=tls, reads=reads, address=address, port=port)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def black_hole(address: str, port: int) -> Iterator[None]:
    """An address that answers no SYN: its backlog is full (Linux drops what does not fit)."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(0)
        shelf = [socket.socket() for _ in range(_SHELF)]
        for sock in shelf:
            sock.setblocking(False)
            with suppress(BlockingIOError):
                sock.connect((address, port))
        try:
            yield
        finally:
            for sock in shelf:
                sock.close()


class Wired:
    """An origin whose bytes can be changed between connections: for tests that make thousands."""

    wire = b""
    port = 0


@contextmanager
def wired() -> Iterator[Wired]:
    """An origin that sends `wire` as it stands when a connection comes."""
    made = Wired()
    with origin(lambda sock: sock.sendall(made.wire)) as server:
        made.port = server.port
        yield made
