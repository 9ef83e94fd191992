"""A wire to a nameserver: DNS messages over one UDP or TCP socket, without ever blocking."""

import select
import socket
from collections.abc import Callable

from workers.net.nameservers import Nameserver

_MESSAGE_BYTES = 65_535  # RFC 1035 section 4.2.2
_LENGTH_BYTES = 2


class Wire:
    """One socket to one server: to be closed. It is connected, so that the kernel drops what anybody else sends.

    Raises: OSError from every method, when the server cannot be reached.
    """

    def __init__(self, server: Nameserver, *, tcp: bool = False) -> None:
        self.server = server
        self.tcp = tcp
        self._unsent = b""
        self._received = bytearray()
        self._socket = socket.socket(server.family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.connect(server.address)
        except BlockingIOError:
            pass  # a TCP connection under way
        except OSError:
            self.close()
            raise

    def send(self, message: bytes) -> None:
        """Send a message, or keep it until the connection stands."""
        if self.tcp:
            self._unsent = len(message).to_bytes(_LENGTH_BYTES) + message
        else:
            self._socket.send(message)

    def watch(self, poll: Callable[[int, int], None]) -> int:
        """Put the socket under watch for what comes next, and give its descriptor."""
        descriptor = self._socket.fileno()
        poll(descriptor, select.POLLOUT if self._unsent else select.POLLIN)
        return descriptor

    def advance(self) -> bytes | None:
        """Do what the socket is ready for; a whole message when that completes one."""
        try:
            if self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
                return None
            chunk = self._socket.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return None
        return self._framed(chunk) if self.tcp else chunk

    def close(self) -> None:
        """Let the socket go."""
        self._socket.close()

    def _framed(self, chunk: bytes) -> bytes | None:
        if not chunk:
            raise ConnectionResetError
        self._received += chunk
        size = int.from_bytes(self._received[:_LENGTH_BYTES])
        if len(self._received) < max(1, size) + _LENGTH_BYTES:
            return None
        message = bytes(self._received[_LENGTH_BYTES : _LENGTH_BYTES + size])
        del self._received[: _LENGTH_BYTES + size]
        return message
