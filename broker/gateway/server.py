"""The MCP server: lists an identity's tools, and carries its calls. Both protocol revisions, any transport."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream
from anyio.to_thread import run_sync
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from broker.gateway import acl, render
from broker.gateway.acl import Authority
from broker.gateway.auth import Identify, RequestContext
from broker.gateway.carrying import Calls, Carried
from broker.gateway.offers import Offer, Offers
from broker.gateway.shape import insist_on_shape
from broker.intake import Progress
from broker.ledger.engine import Ledger
from broker.ledger.refusals import note_refusal
from broker.ledger.tokens import Token
from broker.logs import where
from schemas.envelope import Envelope
from schemas.errors import Internal, LedgerUnavailable, OutriderError

NAME = "outrider"
VERSION = "0.1.0"
STAGES = 32  # told but not yet sent: a client that reads slowly is told fewer
_log = structlog.get_logger(__name__)

Stages = MemoryObjectReceiveStream[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a gateway serves, and with what. `reads` bounds its threads that ask the ledger."""

    ledger: Ledger
    calls: Calls
    identify: Identify
    reads: anyio.CapacityLimiter
    offers: Offers
    now: Callable[[], datetime]


def make_server(desk: Desk) -> Server[Any]:
    """The server of this desk."""

    async def on_list_tools(context: RequestContext, _params: PaginatedRequestParams | None) -> ListToolsResult:
        bearer = await desk.identify(context)
        offers = await run_sync(_list, desk, bearer, _meta(context), limiter=desk.reads)
        return ListToolsResult(tools=[render.listing(offer) for offer in offers])

    async def on_call_tool(context: RequestContext, params: CallToolRequestParams) -> CallToolResult:
        bearer = await desk.identify(context)
        offer = desk.offers.get(params.name)
        if offer is None:
            raise MCPError(INVALID_PARAMS, "There is no such tool.")
        with desk.calls.request():
            return render.result(await _answer(desk, bearer, context, offer, params.arguments or {}), offer)

    return Server(
        NAME,
        version=VERSION,
        instructions=render.INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        get_tool_input_schema=_no_header_parameters,
    )


def _no_header_parameters(_name: str) -> None:
    """No argument of ours travels in a header, so the SDK need not list tools before each call to find out."""


def _meta(context: RequestContext) -> Mapping[str, Any]:
    return dict(context.meta or {})


def _list(desk: Desk, bearer: Token, meta: Mapping[str, Any]) -> list[Offer]:
    try:
        tools = acl.tools_of(desk.ledger, acl.read_authority(bearer, meta, desk.now()))
    except LedgerUnavailable as error:
        raise MCPError(INTERNAL_ERROR, error.message) from None
    except OutriderError as error:
        raise MCPError(INVALID_PARAMS, error.message) from None
    return [offer for offer in desk.offers.values() if offer.tool in tools]


async def _answer(
    desk: Desk, bearer: Token, context: RequestContext, offer: Offer, arguments: dict[str, Any]
) -> Envelope:
    """The envelope of a call, however it ends. Raises: only what interrupts it."""
    started, tool = monotonic(), offer.tool
    try:
        authority = await run_sync(_admit, desk, bearer, _meta(context), offer, arguments, limiter=desk.reads)
        call = Carried(tool=tool.name, arguments=offer.arguments(arguments), context=authority.context)
        envelope = await _carry(desk, context, call)
    except OutriderError as error:
        envelope = render.refusal(tool.name, error)
    except Exception as error:  # noqa: BLE001 - the last wall: an exception's text may hold what was being handled
        kind = type(error).__name__
        _log.error("gateway_broke", tool=tool.name, exception=kind, at=where(error.__traceback__))
        fault = Internal("A fault of ours; the gateway's log names the place.", kind=kind)
        envelope = render.refusal(tool.name, fault).model_copy(update={"outcome": "failed"})
    _tell_closing(bearer, envelope, started)
    return envelope


def _admit(desk: Desk, bearer: Token, meta: Mapping[str, Any], offer: Offer, arguments: dict[str, Any]) -> Authority:
    """The authority of a call that may be made. A refusal is counted for its agent, and leaves nothing else.

    Raises: CapabilityForbidden, InvalidArguments, LedgerUnavailable.
    """
    authority = acl.read_authority(bearer, meta, desk.now())
    try:
        acl.insist(desk.ledger, authority, offer.tool)
        insist_on_shape(offer.args, arguments)
    except LedgerUnavailable:
        raise
    except OutriderError:
        note_refusal(desk.ledger, authority.context, offer.tool.profile.family)
        raise
    return authority


async def _carry(desk: Desk, context: RequestContext, call: Carried) -> Envelope:
    """The call's envelope; progress is passed on meanwhile. Interrupted, it takes the call back and goes."""
    loop = asyncio.get_running_loop()
    put, told = anyio.create_memory_object_stream[str](STAGES)
    if "progress_token" in _meta(context):
        call.told = _teller(loop, put)
    with put, told:
        desk.calls.begin(call)
        call.reply.add_done_callback(lambda _reply: _later(loop, put.close))
        try:
            await _pass_on(context, told)
            return await asyncio.shield(asyncio.wrap_future(call.reply))
        finally:
            if not call.reply.done():
                desk.calls.take_back(call)


def _teller(loop: asyncio.AbstractEventLoop, put: Any) -> Progress:
    def offer(words: str) -> None:
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            put.send_nowait(words)

    def tell(stage: str, facts: dict[str, Any]) -> None:
        _later(loop, offer, render.stage_words(stage, facts))

    return tell


def _later(loop: asyncio.AbstractEventLoop, do: Callable[..., None], *words: str) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody listens any more
        loop.call_soon_threadsafe(do, *words)


async def _pass_on(context: RequestContext, told: Stages) -> None:
    """Report each stage to the client until the call has ended."""
    count = 0
    async for words in told:
        count += 1
        await context.session.report_progress(count, message=words)


def _tell_closing(bearer: Token, envelope: Envelope, started: float) -> None:
    """The one log line of a call: whose and how, never what."""
    _log.info(
        "gateway_call_closed",
        tool=envelope.tool,
        token=bearer.id,
        operation=envelope.operation,
        outcome=envelope.outcome,
        code=None if envelope.error is None else envelope.error.code,
        milliseconds=round((monotonic() - started) * 1000, 1),
    )
