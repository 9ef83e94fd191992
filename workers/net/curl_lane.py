"""The lane of a transfer: one multi handle that drives one transfer at a time, interruptibly.

Why not `Curl.perform`: its multi handle dies with it and takes the parsed CA bundle along, 4.5 ms of CPU a hop against
1.0 ms (measured 2026-11-30, libcurl 8.23, certifi's bundle), and it looks up from an idle socket only once a second.
What a lane keeps between transfers is that CA store alone: connections and TLS sessions are never reused, and the pin
of the transfer before is taken out of the lane's DNS cache by the next one (`stale_pin`).
"""

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import pycurl

_TICK_SECONDS = 0.2  # how long an idle transfer may go unlooked at: cancellation must act within a second (M127)
_TRANSFERS_MAX = 1_000  # then a new lane: a replaced CA file is noticed at last, and nothing can pile up

Ended = tuple[int, str]


class Lane:
    """Drives transfers, one after the other. Shape: `stale_pin` names the entry that the last transfer left behind."""

    def __init__(self) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._alarm)
        self._poll = select.poll()  # select() ends at descriptor 1,023
        self._watched: set[int] = set()
        self._due: float | None = None
        self._left = _TRANSFERS_MAX
        self._pid = os.getpid()
        self.stale_pin: str | None = None

    def usable(self) -> bool:
        """Whether another transfer may take this lane: never across a fork (curl#21466), never without end."""
        return self._left > 0 and not self._watched and self._pid == os.getpid()

    def run(self, curl: pycurl.Curl, tick: Callable[[], None]) -> Ended:
        """Carry one transfer to its end: (libcurl's code, its words). Raises: whatever `tick` raises."""
        self._left -= 1
        self._multi.add_handle(curl)
        try:
            return self._drive(tick)
        finally:
            self._multi.remove_handle(curl)

    def settle(self, sockets: list[socket.socket]) -> None:
        """Close the transfer's connection for good.

        libcurl would leave a TLS connection open until the other side answers its close_notify.
        """
        for sock in sockets:
            with suppress(OSError):  # never connected, or gone already
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for descriptor in tuple(self._watched):
            self._multi.socket_action(descriptor, pycurl.CSELECT_IN | pycurl.CSELECT_ERR)

    def close(self) -> None:
        """Give everything back."""
        self._multi.close()

    def _drive(self, tick: Callable[[], None]) -> Ended:
        looked_at = monotonic()
        while True:
            now = monotonic()
            if self._due is not None and self._due <= now:
                self._due = None
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            _, succeeded, failed = self._multi.info_read()
            if succeeded or failed:
                return failed[0][1:] if failed else (0, "")
            if now - looked_at >= _TICK_SECONDS:
                looked_at = now
                tick()
            self._wait(now)

    def _wait(self, now: float) -> None:
        wait = _TICK_SECONDS if self._due is None else min(_TICK_SECONDS, max(0.0, self._due - now))
        for descriptor, seen in self._poll.poll(wait * 1000):
            bits = pycurl.CSELECT_IN if seen & (select.POLLIN | select.POLLHUP) else 0
            bits |= pycurl.CSELECT_OUT if seen & select.POLLOUT else 0
            bits |= pycurl.CSELECT_ERR if seen & (select.POLLERR | select.POLLNVAL) else 0
            self._multi.socket_action(descriptor, bits)

    def _watch(self, want: int, descriptor: int, _multi: object, _kept: object) -> None:
        if want == pycurl.POLL_REMOVE:
            if descriptor in self._watched:
                self._watched.discard(descriptor)
                self._poll.unregister(descriptor)
            return
        wanted = select.POLLIN if want & pycurl.POLL_IN else 0
        wanted |= select.POLLOUT if want & pycurl.POLL_OUT else 0
        self._poll.register(descriptor, wanted)
        self._watched.add(descriptor)

    def _alarm(self, wait_milliseconds: int) -> None:
        self._due = None if wait_milliseconds < 0 else monotonic() + wait_milliseconds / 1000
