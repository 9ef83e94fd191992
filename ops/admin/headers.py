"""The headers of every answer: nothing is framed, cached, sniffed, or run."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# No script at all, styles of our own file alone, forms to ourselves alone.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SENT = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # stricter ones make a browser hide where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
YEAR_SECONDS = 31_536_000


class Headers:
    """Middleware that sets them, on errors too."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self._app = app
        self._sent = dict(SENT)
        if secure:
            self._sent["Strict-Transport-Security"] = f"max-age={YEAR_SECONDS}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._sent)
            await send(message)

        await self._app(scope, receive, send_with_headers)
