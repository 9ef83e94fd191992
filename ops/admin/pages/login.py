"""Logging in with a token, and out."""

from typing import Annotated

import structlog
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from broker.ledger.tokens import find_token
from broker.ledger.visits import begin_visit, end_visit
from ops.admin.desk import AtDesk, Desk
from ops.admin.pages import visiting
from ops.admin.pages.rendering import page
from ops.admin.pages.visiting import LOGIN, Proof, Visitor

router = APIRouter(include_in_schema=False)
HOME = "/admin/"
_log = structlog.get_logger(__name__)


@router.get(LOGIN)
def show(request: Request, desk: AtDesk) -> HTMLResponse:
    """The log-in form."""
    return _form(request, desk)


@router.post(LOGIN)
def log_in(request: Request, desk: AtDesk, csrf: Proof, token: Annotated[str, Form(max_length=500)] = "") -> Response:
    """Begin a visit with a token. Attempts are slowed by the address they come from."""
    visiting.insist_on_form(request, visiting.door_secret(request, desk), LOGIN, csrf)
    address = request.client.host if request.client else ""
    if (wait := desk.throttle.begin(address)) > 0:
        _log.warning("login_slowed", address=address, seconds=round(wait, 1))
        seconds = int(wait) + 1
        answer = _form(request, desk, status=429, error=f"Too many attempts. Try again in {seconds} seconds.")
        answer.headers["Retry-After"] = str(seconds)
        return answer
    found = find_token(desk.ledger, token.strip())
    if found is None:
        _log.warning("login_refused", address=address)
        return _form(request, desk, status=401, error="This is no valid token: unknown, expired or revoked.")
    desk.throttle.forget(address)
    response = RedirectResponse(HOME, status_code=303)
    visiting.give_visit(response, desk, begin_visit(desk.ledger, found))
    return response


@router.post("/admin/logout")
def log_out(request: Request, desk: AtDesk, visit: Visitor, csrf: Proof) -> Response:
    """End the visit."""
    visiting.insist_on_form(request, visit.secret, "/admin/logout", csrf)
    end_visit(desk.ledger, visit)
    response = RedirectResponse(LOGIN, status_code=303)
    visiting.take_visit(response, desk)
    return response


def _form(request: Request, desk: Desk, *, status: int = 200, error: str | None = None) -> HTMLResponse:
    secret = visiting.door_secret(request, desk)
    csrf = visiting.proof(secret, LOGIN)
    response = page("login.html", None, status=status, error=error, csrf=csrf)
    visiting.give_door(response, desk, secret)
    return response
