"""Rendering: a template, what it shows, and the words for times and sizes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from broker.ledger.visits import Visit
from ops.admin.pages.sight import in_plain_sight
from ops.admin.pages.visiting import proof
from schemas.grants import FLEET, MANAGE, REVIEW

_FOLDER = Path(__file__).parent.parent


def page(name: str, visit: Visit | None, *, status: int = 200, **shown: Any) -> HTMLResponse:
    """The template as a whole page. `proof` gives a form its proof."""
    known: dict[str, Any] = {
        "visit": visit,
        "may_manage": visit is not None and visit.token.covers(MANAGE),
        "may_review": visit is not None and visit.token.covers(REVIEW),
        "may_watch": visit is not None and visit.token.covers(FLEET),
        "proof": (lambda purpose: proof(visit.secret, purpose)) if visit is not None else None,
    }
    return HTMLResponse(_ENVIRONMENT.get_template(name).render(known | shown), status_code=status)


def instant(at: datetime | None) -> str:
    """An instant for people, in UTC to the second."""
    return "never" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def size(count: int) -> str:
    """A number of bytes for people, in the decimal units of the limits."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.2f} MB"


def iso(at: datetime) -> str:
    """An instant for programs."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"instant": instant, "size": size, "iso": iso, "sight": in_plain_sight}
