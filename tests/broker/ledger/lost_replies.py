"""A line to PostgreSQL that can swallow a reply: the commit stands, and its caller never hears of it."""

import socket
from contextlib import suppress
from threading import Event, Thread

from sqlalchemy import make_url


class LossyLine:
    """A loopback port in front of the server's Unix socket.

    After `lose_next_reply()` the next bytes from the server are dropped, with the connection that they were for.
    """

    def __init__(self, url: str) -> None:
        self._target = f"{make_url(url).query['host']}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._losing = Event()
        self._ends: list[socket.socket] = []
        self.lost = Event()
        self.url = f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}/{make_url(url).database}"
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_next_reply(self) -> None:
        self._losing.set()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._ends:
            _hang_up(end)
        for thread in self._threads:
            thread.join(10)
        for end in self._ends:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._ends += [client, server]
                for source, sink, lossy in ((client, server, False), (server, client, True)):
                    thread = Thread(target=self._carry, args=(source, sink, lossy), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _carry(self, source: socket.socket, sink: socket.socket, lossy: bool) -> None:  # noqa: FBT001 - a thread's argument
        with suppress(OSError):
            while chunk := source.recv(65_536):
                if lossy and self._losing.is_set():
                    self._losing.clear()
                    self.lost.set()
                    break
                sink.sendall(chunk)
        _hang_up(source)
        _hang_up(sink)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
