"""Steps of a worker, seen from outside its code: SQL, sockets, libcurl's callbacks, Celery's signals.

Each step is told to a `Steps` right before and right after it happened. The libraries are wrapped, never the product:
it runs as it is, and knows nothing of being counted.
"""

import os
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg2
import psycopg2.extensions
import pycurl
from celery import signals
from celery._state import get_current_task

ARMS = b'"task": "web_fetch"'  # how kombu spells the header of our message: its arrival is the first step
_COMMAND = re.compile(rb"\*\d+\r\n\$\d+\r\n(\w+)\r\n")  # the first word of a request. Source: the RESP protocol
_FUNCTION = re.compile(r"ledger_\w+")
_SENDS = ("connect", "send", "sendall", "sendto")
_RECEIVES = ("recv", "recv_into", "recvfrom", "recvfrom_into")
_CALLBACKS = {
    pycurl.WRITEFUNCTION: "body",
    pycurl.HEADERFUNCTION: "header",
    pycurl.OPENSOCKETFUNCTION: "open",
    pycurl.PREREQFUNCTION: "prereq",
}
# libcurl tells these after they happened. Source: CURLOPT_DEBUGFUNCTION(3)
_TOLD = {
    pycurl.INFOTYPE_HEADER_OUT: "request out",
    pycurl.INFOTYPE_SSL_DATA_OUT: "tls out",
}


class Steps:
    """Counts the steps from the first message on, writes each down, and acts at one of them, by number or by name.

    Shape of a line: the step's number, its thread, the task that the thread carries out or `-`, the step's name.
    """

    def __init__(self, at: int | str | None, act: Callable[[], None], diary: int) -> None:
        self._at, self._act, self._diary = at, act, diary
        self._count = 0
        self._armed = False
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def arm(self) -> None:
        """Begin to count."""
        self._armed = True

    def disarm(self) -> None:
        """Count no more."""
        self._diary = -1

    def take(self, label: str) -> None:
        """One step. The note of it is written before anything is done about it."""
        if not self._armed or self._diary < 0 or os.getpid() != self._pid:
            return
        with self._lock:
            number = self._count
            self._count += 1
            os.write(self._diary, f"{number} {threading.get_ident()} {_task()} {label}\n".encode())
            if self._at in (number, label):
                self._at = None
                self._act()


def _task() -> str:
    task = get_current_task()
    return "-" if task is None else str(task.request.id)


def watch(steps: Steps, *, drain: bool) -> None:
    """Wrap what this process reaches the world with. Once, before the worker starts.

    `drain` counts the steps of its warm shutdown as well.
    """
    if not drain:
        signals.worker_shutting_down.connect(lambda *_, **__: steps.disarm(), weak=False)
    _watch_sockets(steps)
    _watch_sql(steps)
    _watch_curl(steps)
    for name in ("task_received", "task_prerun", "task_postrun"):
        # The signal holds its receivers weakly unless it is told not to.
        getattr(signals, name).connect(lambda *_, name=name, **__: steps.take(f"celery {name}"), weak=False)


def _watch_sockets(steps: Steps) -> None:
    for name in (*_SENDS, *_RECEIVES):
        setattr(socket.socket, name, _watched(steps, name, getattr(socket.socket, name)))


def _watched(steps: Steps, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: socket.socket, *args: Any, **named: Any) -> Any:
        label = f"{_place(self)} {_what(name, args)}"
        steps.take(f"{label} before")
        given = inner(self, *args, **named)
        if name in _RECEIVES and ARMS in _received(name, args, given):
            steps.arm()
        steps.take(f"{label} after")
        return given

    return step


def _place(sock: socket.socket) -> str:
    if sock.family != socket.AF_UNIX:
        return "net"
    try:
        return Path(str(sock.getpeername())).stem or "pipe"
    except OSError:
        return "store"


def _what(name: str, args: tuple[Any, ...]) -> str:
    if name in ("send", "sendall") and args and (found := _COMMAND.match(bytes(args[0][:64]))):
        return found[1].decode().lower()
    return name


def _received(name: str, args: tuple[Any, ...], given: Any) -> bytes:
    if name == "recv_into":
        return bytes(args[0][:given])
    return given if isinstance(given, bytes) else b""


def _watch_sql(steps: Steps) -> None:
    connect = psycopg2.connect

    class Cursor(psycopg2.extensions.cursor):
        def execute(self, query: Any, vars: Any = None) -> None:  # noqa: A002 - the driver's own name
            found = _FUNCTION.search(query if isinstance(query, str) else "")
            label = f"sql {found[0] if found else 'other'}"
            steps.take(f"{label} before")
            super().execute(query, vars)
            steps.take(f"{label} after")

    def connecting(*args: Any, **named: Any) -> Any:
        steps.take("sql connect before")
        made = connect(*args, **{"cursor_factory": Cursor} | named)
        steps.take("sql connect after")
        return made

    psycopg2.connect = connecting


def _watch_curl(steps: Steps) -> None:
    class Curl(pycurl.Curl):
        def __init__(self) -> None:
            super().__init__()
            super().setopt(pycurl.VERBOSE, 1)
            super().setopt(pycurl.DEBUGFUNCTION, self._told)

        def setopt(self, option: int, value: Any) -> Any:
            if option in _CALLBACKS:
                value = _watched_callback(steps, _CALLBACKS[option], value)
            return super().setopt(option, value)

        def _told(self, kind: int, _data: bytes) -> None:
            if kind in _TOLD:
                steps.take(f"curl {_TOLD[kind]}")

    pycurl.Curl = Curl


def _watched_callback(steps: Steps, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    def callback(*args: Any) -> Any:
        steps.take(f"curl {name} before")
        given = inner(*args)
        steps.take(f"curl {name} after")
        return given

    return callback
