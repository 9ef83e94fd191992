"""The server processes of one lab: DNS, the web and the witness, forked and awaited until they answer."""

import asyncio
import os
import select
import signal
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ops.lab import kernel, names, namespace, web, witness
from ops.lab.certificates import Authority
from ops.lab.command import AUTHORITY
from ops.lab.errors import LabUnavailable
from ops.lab.journal import Journal
from ops.lab.zone import Zone

JOURNAL = "log.jsonl"
READY_SECONDS = 20.0

Work = Callable[[], int]


def start(zone: Zone, folder: Path, *, has_ipv6: bool) -> None:
    """Fork the three servers; return when all are listening. Raises: LabUnavailable."""
    authority = Authority(zone.canaries)
    (folder / AUTHORITY).write_bytes(authority.pem())
    journal = Journal(folder / JOURNAL)

    async def dns() -> None:
        await names.serve(zone, namespace.NAMESERVER, folder, journal)

    async def sites() -> None:
        await web.serve(web.Web(zone, authority, journal, has_ipv6=has_ipv6), folder)

    async def counted() -> None:
        await witness.serve(witness.Witness(zone, authority, journal, has_ipv6=has_ipv6), folder)

    _await_ready([_fork(one) for one in (dns, sites, counted)])


def _fork(serve: Callable[[], Awaitable[None]]) -> int:
    """Start one server; gives the descriptor on which it says that it is ready."""
    supervisor = os.getpid()
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        return reading
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.setpgid(0, 0)  # away from signals meant for the supervisor's group
        kernel.die_with_parent(signal.SIGKILL, supervisor)
        asyncio.run(_live(serve, writing))
    except BaseException:  # noqa: BLE001 - the child must not run on into the supervisor's code
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


async def _live(serve: Callable[[], Awaitable[None]], writing: int) -> None:
    asyncio.get_running_loop().set_exception_handler(_tolerate)
    await serve()
    os.write(writing, b"!")
    os.close(writing)
    await asyncio.get_running_loop().create_future()


def _tolerate(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Clients that break off are a lab's daily bread: only our own faults are worth a line."""
    if not isinstance(context.get("exception"), ssl.SSLError | ConnectionError | TimeoutError):
        loop.default_exception_handler(context)


def _await_ready(descriptors: list[int]) -> None:
    until = time.monotonic() + READY_SECONDS
    for descriptor in descriptors:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        said = os.read(descriptor, 1) if ready else b""
        os.close(descriptor)
        if said != b"!":
            raise LabUnavailable("a server of the lab did not come up")
