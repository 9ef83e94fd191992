"""The gateway over streamable HTTP, on loopback, behind bearer tokens: `/mcp`, and the aliases beside it."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from time import monotonic
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext, RequireAuthMiddleware
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from broker.gateway.auth import Backend, Verifier, bearer_of_request, tell_away
from broker.gateway.carrying import Calls
from broker.gateway.offers import Offers, alias_offers, own_offers
from broker.gateway.server import Desk, make_server
from broker.ledger.engine import Ledger, ledger_engine
from broker.settings import Settings

PATHS: dict[str, Callable[[], Offers]] = {"/mcp": own_offers, "/mcp/search-fetch": alias_offers}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY_BYTES = 1_000_000  # the largest arguments are 80,000 bytes, six times that with every character escaped
SESSIONS = 400  # of the older protocol revisions; the newest has none
BEARER_SESSIONS = 20
SESSION_IDLE_SECONDS = 900.0
CONNECTIONS = 500
READS = 8  # threads, and connections, that ask the ledger; waiting calls look at it every five seconds
LEDGER_CONNECTIONS = 16
GRACE_SECONDS = 40.0  # longer than a call that was begun takes; one that waits for a busy project ends without us
QUIET_SECONDS = 0.5  # between a call's end and its last byte
CLOSE_SECONDS = 3


class Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions, of which no bearer takes all: one more ends the oldest of its own that nobody uses now.

    Clients that leave without a word are common; refusing them would lock their bearer out until its sessions idle out.
    """

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        own = [session for session, owner in self._session_owners.items() if owner == requestor]
        if len(own) >= BEARER_SESSIONS and not self._end_first_idle(own):
            return None
        return super()._admit_session(requestor)

    def _end_first_idle(self, own: list[str]) -> bool:
        for session in own:
            scope = self._server_instances[session].idle_scope
            if scope is not None and scope.deadline < math.inf:  # a request in flight stops the clock
                scope.cancel()
                self._server_instances.pop(session)
                self._session_owners.pop(session)
                return True
        return False


class Doorman(uvicorn.Server):
    """Uvicorn, which on the first signal takes no new calls and leaves when the last one is answered."""

    def __init__(self, config: uvicorn.Config, calls: Calls) -> None:
        super().__init__(config)
        self._calls = calls
        self._leave_at: float | None = None
        self._quiet_since: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to leave; at once when told again."""
        del sig, frame
        if self._leave_at is None:
            self._calls.stop()
            self._leave_at = monotonic() + GRACE_SECONDS
        else:
            self.should_exit = self.force_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to go: asked ten times a second."""
        if self._leave_at is not None:
            now = monotonic()
            self._quiet_since = (self._quiet_since or now) if self._calls.idle() else None
            quiet = self._quiet_since is not None and now - self._quiet_since >= QUIET_SECONDS
            self.should_exit = self.should_exit or quiet or now >= self._leave_at
        return await super().on_tick(counter)


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


def make_app(servers: dict[str, Server[Any]], verifier: Verifier, security: TransportSecuritySettings) -> Starlette:
    """The application, a server a path: who is not known gets 401, whatever it asks."""
    doors = {path: _sessions(server, security) for path, server in servers.items()}
    routes = [
        Route(path, endpoint=RequireAuthMiddleware(StreamableHTTPASGIApp(sessions), []))
        for path, sessions in doors.items()
    ]
    guard = Middleware(AuthenticationMiddleware, backend=Backend(verifier), on_error=tell_away)

    @asynccontextmanager
    async def open_doors(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            for sessions in doors.values():
                await held.enter_async_context(sessions.run())
            yield

    return Starlette(routes=routes, middleware=[guard], lifespan=open_doors)


def _sessions(server: Server[Any], security: TransportSecuritySettings) -> Sessions:
    return Sessions(
        server,
        security_settings=security,
        max_request_body_size=BODY_BYTES,
        session_idle_timeout=SESSION_IDLE_SECONDS,
        max_sessions=SESSIONS,
    )


def security_of(settings: Settings) -> TransportSecuritySettings:
    """The names and origins we answer to: a page of a foreign name that was pointed at loopback gets nothing."""
    outside = urlsplit(settings.gateway_url or "")
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*(f"{host}:*" for host in LOOPBACK), *([outside.netloc] if outside.netloc else [])],
        allowed_origins=[
            *(f"http://{host}:*" for host in LOOPBACK),
            *([f"{outside.scheme}://{outside.netloc}"] if outside.netloc else []),
        ],
    )


def serve(settings: Settings) -> bool:
    """Serve until SIGTERM or SIGINT. Gives whether every call was answered. Raises: StackMissing."""
    ledger = ledger_engine(settings.require_database_url(), size=LEDGER_CONNECTIONS)
    calls, reads = Calls(ledger), anyio.CapacityLimiter(READS)
    verifier = Verifier(ledger, reads)
    servers = {path: _server(ledger, calls, reads, offers()) for path, offers in PATHS.items()}
    config = uvicorn.Config(
        make_app(servers, verifier, security_of(settings)),
        host="127.0.0.1",
        port=settings.gateway_port,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    try:
        Doorman(config, calls).run()
        return calls.idle()
    finally:
        calls.close()
        ledger.dispose()


def _server(ledger: Ledger, calls: Calls, reads: anyio.CapacityLimiter, offers: Offers) -> Server[Any]:
    desk = Desk(ledger=ledger, calls=calls, identify=bearer_of_request, reads=reads, offers=offers, now=utc_now)
    return make_server(desk)
