"""A web server made of raw protocol: plays the replies of its sites on real ports, cheaply, and ends them as told."""

import asyncio
import fcntl
import socket
import ssl
import struct
import termios
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address
from typing import Any

from ops.lab.http import Reply, Request, read, text

# Linux: bind an IPv6 address the device does not carry (ipv6(7)); for IPv4 the local route is enough.
IPV6_FREEBIND = 78
BACKLOG = 1024
TLS_HELLO = b"\x16\x03"
LINGER_ZERO = struct.pack("ii", 1, 0)

Answerer = Callable[[Request], Reply]


class Conversation(asyncio.Protocol):
    """One connection: requests one after the other, each answered before the next is read."""

    def __init__(self, scheme: str, answer: Answerer) -> None:
        self._scheme = scheme
        self._answer = answer
        self._buffer = b""
        self._line: Any = None
        self._playing: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the line."""
        self._line = transport

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop whatever was still being said."""
        del exc
        if self._playing is not None:
            self._playing.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer the request as soon as it is whole."""
        self._buffer += data
        if self._playing is None:
            self._serve_next()

    def _serve_next(self) -> None:
        if self._buffer.startswith(TLS_HELLO):
            self._line.write(text("You speak TLS to a server that does not.\n", status=400))
            self._line.close()
            return
        try:
            found = read(self._buffer, self._scheme)
        except ValueError:
            self._line.close()
            return
        if found is None:
            return
        request, self._buffer = found
        reply = self._answer(request)
        wants_close = "close" in request.header("connection").lower()
        close = "fin" if reply.close == "keep" and wants_close else reply.close
        if isinstance(reply.wire, bytes) and close in ("keep", "fin"):
            self._line.write(reply.wire)
            self._finish(close)
        else:
            self._playing = asyncio.get_running_loop().create_task(self._play(reply.wire, close))

    async def _play(self, wire: bytes | AsyncIterator[bytes], close: str) -> None:
        if isinstance(wire, bytes):
            self._line.write(wire)
        else:
            async for part in wire:
                await self._writable.wait()
                if self._line.is_closing():
                    return
                self._line.write(part)
                await asyncio.sleep(0)  # an endless reply must let the loop hear that the client has gone
        if close in ("rst", "cut"):
            await self._sent()
        self._playing = None
        self._finish(close)

    def _finish(self, close: str) -> None:
        if close == "fin":
            self._line.close()
        elif close == "keep":
            if self._buffer:
                self._serve_next()
        elif close in ("rst", "cut"):
            if close == "rst":
                self._line.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
            self._line.abort()

    async def _sent(self) -> None:
        """Until the other side's kernel holds every byte, or a second has gone by: a reset drops what is on its way."""
        descriptor = self._line.get_extra_info("socket").fileno()
        for _ in range(200):
            queued = struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, b"\0\0\0\0"))[0]
            if not queued and not self._line.get_write_buffer_size():
                return
            await asyncio.sleep(0.005)


class Silence(asyncio.Protocol):
    """Accepts, reads, never speaks."""


async def listen(address: str, port: int, kind: str, answer: Answerer, tls: ssl.SSLContext) -> asyncio.Server:
    """Serve one port of one address. `kind` is http, https or tcp_silent. Raises: OSError."""
    talk: Callable[[], asyncio.Protocol] = Silence if kind == "tcp_silent" else lambda: Conversation(kind, answer)
    return await asyncio.get_running_loop().create_server(
        talk, sock=bound(address, port), backlog=BACKLOG, ssl=tls if kind == "https" else None
    )


def bound(address: str, port: int) -> socket.socket:
    """A TCP socket bound to any address, ours or not. Raises: OSError."""
    version = ip_address(address).version
    sock = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if version == 6:
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def swallow(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A port whose queue is full for as long as the two sockets live: further SYNs are dropped in silence."""
    hole = bound(address, port)
    hole.listen(0)
    return hole, socket.create_connection((address, port), timeout=5)
