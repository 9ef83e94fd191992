"""The ceiling: no request reaches a provider before its worst case is reserved, and each is settled by what it used.

It stands on the wire, below the providers' clients, so that nothing of theirs can send past it: a retry is a request
like any other. The worst case is what the bytes that are about to leave can cost: no token is shorter than a byte, and
the body itself says how many tokens may come back.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
from anyio.to_thread import run_sync

from schemas.errors import CostControlUnavailable, Failed, OutriderError, SourceUnavailable
from workers.models.route import Route

OVERHEAD_TOKENS = 2_000  # what providers add that is not in the body: templates, their own words on tools
REPLY_BYTES = 4_000_000  # some sixty times the longest answer


class Purse(Protocol):
    """Where a run's money is."""

    def reserve(self, worst_nanousd: int) -> str:
        """The id of a request that may be sent. Raises: CostCeilingReached and others: nothing may be sent."""

    def settle(self, request_id: str, cost_nanousd: int) -> None:
        """Count what the request cost."""


@dataclass(slots=True)
class Stopped:
    """Why nothing more is sent. The providers' clients wrap what a transport raises, so it is written down here."""

    why: OutriderError | None = None


@dataclass(eq=False)
class Metered(httpx2.AsyncBaseTransport):
    """A transport on which each request is paid for before it is sent. Must be closed, as its client does."""

    route: Route
    purse: Purse
    inner: httpx2.AsyncBaseTransport
    stopped: Stopped = field(default_factory=Stopped)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The reply, read whole. Raises: OutriderError, also for each request after the first that was refused."""
        if self.stopped.why is not None:
            raise self.stopped.why
        try:
            return await self._pay(request)
        except OutriderError as error:
            self.stopped.why = error
            raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self.inner.aclose()

    async def _pay(self, request: httpx2.Request) -> httpx2.Response:
        worst = worst_nanousd(self.route, await request.aread())
        reserved = await run_sync(self.purse.reserve, worst)
        response = await self.inner.handle_async_request(request)
        try:
            body = await _whole(response)
        finally:
            await response.aclose()
        cost = reported_nanousd(self.route, body)
        if cost is not None:
            await run_sync(self.purse.settle, reserved, min(cost, worst))
        if cost is not None and cost > worst:
            raise CostControlUnavailable("The provider used more than the request allows.", allowed_nanousd=worst)
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _FRAMING]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)


_FRAMING = {"content-length", "transfer-encoding"}


async def _whole(response: httpx2.Response) -> bytes:
    kept = bytearray()
    async for chunk in response.aiter_raw():
        kept += chunk
        if len(kept) > REPLY_BYTES:
            raise ReplyTooLarge("The provider's reply is too large.", limit_bytes=REPLY_BYTES)
    return bytes(kept)


class ReplyTooLarge(Failed):
    """A provider's reply is longer than any answer."""

    code = SourceUnavailable.code


def worst_nanousd(route: Route, body: bytes) -> int:
    """What a request with this body can cost at most. Raises: CostControlUnavailable."""
    asked = _object(body)
    bounds = [asked[name] for name in ("max_tokens", "max_completion_tokens") if asked.get(name) is not None]
    bounded = bounds and all(type(bound) is int and 0 < bound <= route.max_output_tokens for bound in bounds)
    if not bounded or asked.get("stream") or asked.get("n", 1) != 1:
        raise CostControlUnavailable("The request does not bound what may come back.")
    return route.cost_nanousd(len(body) + OVERHEAD_TOKENS, max(bounds))


def reported_nanousd(route: Route, body: bytes) -> int | None:
    """What the provider says that it used; None where it does not say."""
    told = _object(body).get("usage")
    usage = told if isinstance(told, dict) else {}
    names = _ANTHROPIC if route.kind == "anthropic" else _OPENAI
    counts = [usage.get(name) for name in names]
    if any(type(count) is not int or count < 0 for count in counts[:2]):
        return None
    given, made, *more = [count if type(count) is int and count > 0 else 0 for count in counts]
    if route.kind == "anthropic":
        return route.cost_nanousd(given + sum(more), made)
    # Reasoning may be in the total alone.
    return route.cost_nanousd(given, max(made, *(total - given for total in more)))


_ANTHROPIC = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OPENAI = ("prompt_tokens", "completion_tokens", "total_tokens")


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
