"""Auth: whose request it is, by its bearer token and nothing else that a client says."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.authentication import AuthCredentials, AuthenticationError, BaseUser
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from broker.ledger.engine import Ledger
from broker.ledger.tokens import PREFIX, Token, find_agent_token
from schemas.errors import LedgerUnavailable

RequestContext = ServerRequestContext[Any, Any]
Identify = Callable[[RequestContext], Awaitable[Token]]

TOKEN_CHARS = 100  # ours have 52; the rest is not worth a question to the ledger
RETRY_SECONDS = 5


class Verifier:
    """The SDK's verifier of bearer tokens, over the ledger: its clock judges, and a revoked token ends at once."""

    def __init__(self, ledger: Ledger, reads: anyio.CapacityLimiter) -> None:
        self._ledger = ledger
        self._reads = reads

    async def verify_token(self, token: str) -> AccessToken | None:
        """Whose it is, without its secret; None for a token that lets nobody act. Raises: LedgerUnavailable."""
        found = await self.find(token)
        if found is None:
            return None
        return AccessToken(token=found.id, client_id=found.id, scopes=list(found.permissions), claims={"bearer": found})

    async def find(self, secret: str) -> Token | None:
        """The living agent's token of this secret. Raises: LedgerUnavailable."""
        if not secret.startswith(PREFIX) or len(secret) > TOKEN_CHARS:
            return None
        return await run_sync(find_agent_token, self._ledger, secret, limiter=self._reads)


class Backend(BearerAuthBackend):
    """The SDK's reader of the Authorization header. A ledger that is away lets nobody in, and says so."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Who asks. Raises: AuthenticationError."""
        try:
            found: tuple[AuthCredentials, BaseUser] | None = await super().authenticate(conn)
        except LedgerUnavailable as error:
            raise AuthenticationError(error.message) from None
        return found


def tell_away(_conn: HTTPConnection, error: AuthenticationError) -> Response:
    """The answer while tokens cannot be looked up."""
    body = {"error": "temporarily_unavailable", "error_description": str(error)}
    return JSONResponse(body, status_code=503, headers={"Retry-After": str(RETRY_SECONDS)})


async def bearer_of_request(context: RequestContext) -> Token:
    """The token of the HTTP request that carried this message: of each one anew, also within a protocol session.

    Raises: MCPError.
    """
    user = context.request.scope.get("user") if context.request is not None else None
    claims = user.access_token.claims if isinstance(user, AuthenticatedUser) else None
    found = (claims or {}).get("bearer")
    if not isinstance(found, Token):
        raise _refused()
    return found


def bearer_of_process(verifier: Verifier, secret: str) -> Identify:
    """Who asks over stdio: the token that the process was started with, looked up anew for each request."""
    return partial(_bearer_of_process, verifier, secret)


async def _bearer_of_process(verifier: Verifier, secret: str, _context: RequestContext) -> Token:
    try:
        found = await verifier.find(secret)
    except LedgerUnavailable as error:
        raise MCPError(INTERNAL_ERROR, error.message) from None
    if found is None:
        raise _refused()
    return found


def _refused() -> MCPError:
    return MCPError(INVALID_REQUEST, "This is no valid token of an agent: unknown, expired or revoked.")
