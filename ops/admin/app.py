"""The application: routers, what an error becomes, and the headers of every answer."""

from pathlib import Path
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from broker.ledger.visits import Visit
from broker.logs import where
from ops.admin import problems
from ops.admin.api import agents, reviews, runs, settings
from ops.admin.desk import Desk
from ops.admin.headers import Headers
from ops.admin.pages import fleet, login, projects, visiting, web_search
from ops.admin.pages import reviews as review_pages
from ops.admin.pages import runs as run_pages
from ops.admin.pages.rendering import page
from ops.admin.problems import Problem
from schemas.errors import ContextChanged, LedgerUnavailable, ReplayChanged

BODY_BYTES = 65_536  # 200 names of 128 characters, with room
_log = structlog.get_logger(__name__)


def make_app(desk: Desk) -> FastAPI:
    """The admin server's application."""
    app = FastAPI(
        title="Outrider administration",
        version="1",
        description="Who may search and fetch the web in each project, and what became of it.",
        openapi_url="/api/admin/openapi.json",
        docs_url=None,  # both pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        max_body_size=BODY_BYTES,
    )
    app.state.desk = desk
    for part in (settings, agents, runs, reviews, login, projects, web_search, run_pages, review_pages, fleet):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    altered = (ReplayChanged, ContextChanged)
    for kind in (Problem, RequestValidationError, HTTPException, LedgerUnavailable, *altered, Exception):
        app.add_exception_handler(kind, _answer_error)
    app.add_exception_handler(visiting.LoggedOut, _send_to_login)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=desk.hosts(), www_redirect=False)
    app.add_middleware(Headers, secure=desk.secure)
    return app


def _answer_error(request: Request, error: Exception) -> Response:
    status, headers, facts = problems.status_of(error)
    if status == 500:
        _log.error("admin_broke", exception=type(error).__name__, at=where(error.__traceback__))
    if problems.is_api(request):
        return problems.answer(status, headers, **facts)
    code, message, _hint = problems.TABLE.get(status, problems.TABLE[500])
    return page("problem.html", _visitor(request), status=status, code=code, message=message, number=status)


def _visitor(request: Request) -> Visit | None:
    """Who is shown the problem: with a ledger that is away, nobody that we know."""
    try:
        return visiting.visit_of(request, request.app.state.desk)
    except (visiting.LoggedOut, LedgerUnavailable):
        return None


def _send_to_login(_request: Request, _error: Any) -> Response:
    return RedirectResponse(visiting.LOGIN, status_code=303)
