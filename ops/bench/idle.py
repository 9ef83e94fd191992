"""Idle: one call at a time on a warm and quiet stack, each beside a bare request for the same URL."""

import os
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit
from uuid import uuid4

from broker import intake
from broker.app import app
from ops.bench.stand import AGENT, PROJECTS, Stand

WARM_CALLS = 10
REPLY_SECONDS = 30.0
CHUNK_BYTES = 65_536
PAGE_BYTES = 8_192  # PostgreSQL's


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Unit: milliseconds.

    Shape: `origin` is a bare request: name looked up, connected, TLS, read to its end. `disk` is one page written
    durably where the ledger lies: what a commit waits for. `parts` is the round trip of a bare exchange for the same
    URL: Celery, DNS and libcurl without guard, ledger, extraction or account.
    """

    p50: float
    p99: float
    origin_p50: float
    origin_p99: float
    disk_p50: float
    parts_p50: float
    calls: int
    completed: int

    @property
    def over_origin(self) -> float:
        """What the fleet adds to the origin's own time, at the median."""
        return self.p50 - self.origin_p50


def latency(stand: Stand, url: str, calls: int) -> Latency:
    """Calls and bare requests in turn, after a few of each that are not counted."""
    run = uuid4().hex[:12]
    completed = 0
    fleet: list[float] = []
    origin: list[float] = []
    disk: list[float] = []
    parts: list[float] = []
    for turn in range(WARM_CALLS + calls):
        context = {"project": PROJECTS[turn % len(PROJECTS)], "agent": AGENT, "run": run, "step": f"{run}-{turn}"}
        spent, outcome = _timed(partial(_call, stand, url, context))
        alone, _ = _timed(partial(_bare, url))
        if turn >= WARM_CALLS:
            fleet.append(spent)
            origin.append(alone)
            disk.append(_timed(partial(_durable, stand.settings.home / "page"))[0])
            parts.append(_timed(partial(_parts, url, context))[0])
            completed += outcome == "completed"
    return Latency(
        p50=median(fleet), p99=_p99(fleet), origin_p50=median(origin), origin_p99=_p99(origin),
        disk_p50=median(disk), parts_p50=median(parts), calls=calls, completed=completed,
    )  # fmt: skip


def _call(stand: Stand, url: str, context: dict[str, str]) -> str:
    handle = intake.submit("web_fetch", {"url": url}, context)
    return str(intake.await_reply(handle, timeout_seconds=REPLY_SECONDS, ledger=stand.ledger)["outcome"])


def _parts(url: str, context: dict[str, str]) -> str:
    """One bare exchange through the fleet."""
    sent = app.send_task("bench_bare", kwargs={"arguments": {"url": url}, "context": context}, queue="fetch")
    sent.get(timeout=REPLY_SECONDS)
    sent.forget()
    return ""


def _bare(url: str) -> str:
    """One GET with nothing around it, over a connection of its own."""
    place = urlsplit(url)
    host = place.hostname or ""
    request = f"GET {place.path or '/'} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    line: socket.socket = socket.create_connection((host, 443 if place.scheme == "https" else 80), timeout=10)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as curl does: else 40 ms of Nagle in a handshake
    if place.scheme == "https":
        line = _TRUST.wrap_socket(line, server_hostname=host)
    with line:
        line.sendall(request)
        reply = bytearray()
        while not _is_whole(reply):
            reply += line.recv(CHUNK_BYTES)
    return reply[9:12].decode()


_TRUST = ssl.create_default_context()  # finds the lab's authority through SSL_CERT_FILE


def _durable(path: Path) -> str:
    with path.open("ab", buffering=0) as file:
        file.write(bytes(PAGE_BYTES))
        os.fdatasync(file.fileno())
    return ""


def _is_whole(reply: bytearray) -> bool:
    head, blank, body = reply.partition(b"\r\n\r\n")
    if not blank:
        return False
    _, _, length = head.lower().partition(b"content-length:")
    return len(body) >= int(length.split(b"\r\n", 1)[0])


def _timed(work: Callable[[], str]) -> tuple[float, str]:
    began = time.perf_counter()
    found = work()
    return 1000 * (time.perf_counter() - began), found


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]
