"""Visiting: who looks at a page, and whether a form that comes back is one that we gave out.

The cookie holds a visit's secret, HttpOnly and SameSite=Strict. Each form carries an HMAC under that secret of what the
form is for, so a form of another site, another visit or another place is refused. Before the log-in a cookie of its own
does the same for the log-in form.
"""

import hmac
import re
import secrets
from typing import Annotated, NoReturn

from fastapi import Depends, Form, Request, Response

from broker.ledger.visits import Visit, find_visit
from ops.admin.desk import AtDesk, Desk
from ops.admin.problems import Problem
from schemas.grants import Permission

LOGIN = "/admin/login"
_VISIT, _DOOR = "outrider_visit", "outrider_door"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 bytes as base64url
Proof = Annotated[str, Form(alias="csrf", max_length=200)]


class LoggedOut(Exception):
    """Nobody is logged in here; the log-in page is where to go."""


def visit_of(request: Request, desk: AtDesk) -> Visit:
    """The visit of a request's cookie. Raises: LoggedOut."""
    secret = request.cookies.get(_name(desk, _VISIT))
    visit = find_visit(desk.ledger, secret) if secret else None
    if visit is None:
        raise LoggedOut
    return visit


Visitor = Annotated[Visit, Depends(visit_of)]


def insist(visit: Visit, permission: Permission, project_id: str | None = None) -> None:
    """Nothing, for a visitor whose token carries the permission, for this project. Raises: Problem."""
    if not visit.token.covers(permission, project_id):
        _refuse()


def proof(secret: str, purpose: str) -> str:
    """What a form for this purpose carries."""
    return hmac.new(secret.encode(), b"form:" + purpose.encode(), "sha256").hexdigest()


def insist_on_form(request: Request, secret: str, purpose: str, given: str) -> None:
    """Nothing, for a form that we gave out to this browser for this purpose. Raises: Problem."""
    # Browsers say where a form comes from; one that does not say is judged by the proof alone.
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        _refuse()
    if not hmac.compare_digest(proof(secret, purpose).encode(), given.encode("utf-8", "replace")):
        _refuse()


def door_secret(request: Request, desk: Desk) -> str:
    """The secret of the browser's log-in form; a new one where it has none."""
    known = request.cookies.get(_name(desk, _DOOR), "")
    return known if _SECRET.fullmatch(known) else secrets.token_urlsafe(32)


def give_door(response: Response, desk: Desk, secret: str) -> None:
    """Let the browser keep the secret of its log-in form."""
    _set(response, desk, _DOOR, secret)


def give_visit(response: Response, desk: Desk, visit: Visit) -> None:
    """Log the browser in; its log-in form is of no use any more."""
    _set(response, desk, _VISIT, visit.secret)
    _clear(response, desk, _DOOR)


def take_visit(response: Response, desk: Desk) -> None:
    """Let the browser forget its visit."""
    _clear(response, desk, _VISIT)


def _name(desk: Desk, name: str) -> str:
    """Over https with the prefix that keeps a neighbour's host from setting it. Source: RFC 6265bis section 4.1.3."""
    return f"__Host-{name}" if desk.secure else name


def _set(response: Response, desk: Desk, name: str, value: str) -> None:
    response.set_cookie(_name(desk, name), value, path="/", secure=desk.secure, httponly=True, samesite="strict")


def _clear(response: Response, desk: Desk, name: str) -> None:
    response.delete_cookie(_name(desk, name), path="/", secure=desk.secure, httponly=True, samesite="strict")


def _refuse() -> NoReturn:
    raise Problem(403)
