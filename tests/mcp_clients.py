"""The SDK's own client at a fleet's gateway, over HTTP and over stdio, in both protocol modes."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from broker.ledger.tokens import Token, agent_token, create_token
from ops.stack import ports
from schemas.grants import Claim
from tests.fleet import HOUSE, Fleet, wait_until

MODES = ("legacy", "auto")
TRANSPORTS = ("http", "stdio")
SECONDS = 120.0
T = TypeVar("T")


def token(fleet: Fleet, project: str = "local", agent: str = "cli", seconds: float = 900, **claim: str) -> str:
    """The secret of a new agent's token."""
    return made(fleet, project, agent, seconds, **claim)[1]


def made(
    fleet: Fleet, project: str = "local", agent: str = "cli", seconds: float = 900, **claim: str
) -> tuple[Token, str]:
    wait_until(lambda: answers(fleet), seconds=60, what="the gateway answers")
    wanted = agent_token("tests", Claim(agent=agent, **claim), project, seconds=seconds)
    return create_token(fleet.ledger, wanted, actor="tests")


def answers(fleet: Fleet) -> bool:
    """Whether the gateway listens: it is started with the fleet, and imports for a second or two."""
    return not ports.is_free(int(str(urlsplit(fleet.state.gateway_url).port)))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@asynccontextmanager
async def connected(
    fleet: Fleet, secret: str, *, transport: str = "http", mode: Any = "auto", aliases: bool = False
) -> AsyncIterator[Client]:
    """A client of the SDK, connected."""
    if transport == "stdio":
        async with Client(stdio_client(parameters(fleet, secret, *["--aliases"] * aliases)), mode=mode) as client:
            yield client
        return
    async with httpx2.AsyncClient(headers=bearer(secret), timeout=SECONDS) as http:
        url = str(fleet.state.gateway_url) + "/search-fetch" * aliases
        road = streamable_http_client(url, http_client=http)
        async with Client(road, mode=mode) as client:
            yield client


def parameters(fleet: Fleet, secret: str, *words: str) -> StdioServerParameters:
    """How a client starts the gateway for itself."""
    environment = {**os.environ, **fleet.environment(), "OUTRIDER_TOKEN": secret}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "ops", "gateway", "--stdio", *words], env=environment, cwd=HOUSE
    )


def talk(
    fleet: Fleet,
    secret: str,
    say: Callable[[Client], Awaitable[T]],
    *,
    transport: str = "http",
    mode: str = "auto",
    aliases: bool = False,
) -> T:
    """What is found in one conversation."""

    async def converse() -> T:
        with anyio.fail_after(SECONDS):
            async with connected(fleet, secret, transport=transport, mode=mode, aliases=aliases) as client:
                return await say(client)

    return anyio.run(converse)


def call(
    fleet: Fleet, secret: str, url: str, *, tool: str = "web_fetch", meta: Any = None, mode: str = "auto", **more: Any
):
    """One tool call in a conversation of its own."""
    return talk(fleet, secret, lambda client: client.call_tool(tool, {"url": url, **more}, meta=meta), mode=mode)


def names(fleet: Fleet, secret: str, *, mode: str = "auto") -> list[str]:
    """The names of the tools that a token's bearer is listed."""

    async def listed(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    return talk(fleet, secret, listed, mode=mode)


def code_of(result: Any) -> str | None:
    """The code of an error result."""
    return result.structured_content["error"]["code"] if result.is_error else None
