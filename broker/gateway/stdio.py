"""The gateway over stdio: one client, one token, for as long as the client keeps its end open."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from broker.gateway.auth import Verifier, bearer_of_process
from broker.gateway.carrying import CANCEL_SECONDS, Calls
from broker.gateway.http import BODY_BYTES, READS, utc_now
from broker.gateway.offers import Offers
from broker.gateway.server import Desk, make_server
from broker.ledger.engine import Ledger
from schemas.errors import InvalidArguments

LOOK_SECONDS = 0.1


class TokenRefused(Exception):
    """The token lets nobody act: unknown, expired, revoked, or an administrator's."""


async def serve(ledger: Ledger, secret: str, offers: Offers, asked: Callable[[], bool]) -> bool:
    """Serve until the client leaves or the end is asked for. Gives whether every call has ended.

    Raises: TokenRefused, InvalidArguments, LedgerUnavailable.
    """
    calls, reads = Calls(ledger), anyio.CapacityLimiter(READS)
    verifier = Verifier(ledger, reads)
    if await verifier.find(secret) is None:
        raise TokenRefused
    identify = bearer_of_process(verifier, secret)
    desk = Desk(ledger=ledger, calls=calls, identify=identify, reads=reads, offers=offers, now=utc_now)
    try:
        await _converse(make_server(desk), asked)
        return await _ended(calls)
    finally:
        calls.close()


async def _converse(server: Server[Any], asked: Callable[[], bool]) -> None:
    """Serve one client until either side ends. Raises: InvalidArguments for a message that is too long."""
    too_long = anyio.Event()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, asked, group.cancel_scope)
            # The SDK's own reader sits in a thread that nothing can interrupt, and reads lines of any length.
            async with stdio_server(stdin=cast("Any", _lines(too_long))) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        pass  # the client is gone, and so is what was being said to it
    if too_long.is_set():
        raise InvalidArguments(f"A message is longer than {BODY_BYTES:,} bytes; the connection is ended.")


async def _watch(asked: Callable[[], bool], scope: anyio.CancelScope) -> None:
    while not asked():  # noqa: ASYNC110 - a signal sets no event of this loop
        await anyio.sleep(LOOK_SECONDS)
    scope.cancel()


async def _lines(too_long: anyio.Event) -> AsyncIterator[str]:
    """The client's messages, up to one that is too long."""
    reader = asyncio.StreamReader(limit=BODY_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while line := await reader.readline():
            yield line.decode("utf-8", "replace")
    except ValueError:  # the stream's word for it
        too_long.set()
    finally:
        transport.close()


async def _ended(calls: Calls) -> bool:
    """Whether the calls that were taken back have ended: waited for as long as that takes a worker."""
    until = monotonic() + CANCEL_SECONDS
    while not calls.idle() and monotonic() < until:  # noqa: ASYNC110 - threads end, at the end of a process
        await anyio.sleep(LOOK_SECONDS)
    return calls.idle()
