"""Administration and its projects: which there are, and the way to one."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import TypeAdapter, ValidationError

from broker.ledger.activity import read_project_ids
from broker.ledger.projects import read_project
from broker.ledger.runs import read_recent_runs
from broker.ledger.visits import Visit
from ops.admin.bearer import ProjectId
from ops.admin.desk import AtDesk, Desk
from ops.admin.pages.rendering import page
from ops.admin.pages.visiting import Visitor, insist
from schemas.context import SafeId
from schemas.grants import MANAGE

router = APIRouter(include_in_schema=False)
WRONG_ID = "A project's id has letters, digits and . _ : - (first a letter or a digit), 128 at most."


@router.get("/")
@router.get("/admin")
def home() -> Response:
    """Where the pages begin."""
    return RedirectResponse("/admin/", status_code=303)


@router.get("/admin/")
def administration(visit: Visitor) -> HTMLResponse:
    """Administration: the places that there are."""
    return page("administration.html", visit)


@router.get("/admin/projects")
def projects(visit: Visitor, desk: AtDesk, wanted: Annotated[str | None, Query(alias="id")] = None) -> Response:
    """The projects of the visitor's token; with an id, the way to that one, saved before or not."""
    insist(visit, MANAGE)
    if wanted is None:
        return _list(visit, desk)
    try:
        project_id = TypeAdapter(SafeId).validate_python(wanted.strip())
    except ValidationError:
        return _list(visit, desk, status=422, error=WRONG_ID, typed=wanted[:200])
    return RedirectResponse(f"/admin/projects/{project_id}", status_code=303)


@router.get("/admin/projects/{projectId}")  # noqa: FAST003 - the alias of ProjectId
def project(project_id: ProjectId, visit: Visitor, desk: AtDesk) -> HTMLResponse:
    """One project: its settings in a line, and its latest runs."""
    insist(visit, MANAGE, project_id)
    found = read_project(desk.ledger, project_id)
    return page("project.html", visit, project=found, runs=read_recent_runs(desk.ledger, project_id))


def _list(visit: Visit, desk: Desk, *, status: int = 200, error: str | None = None, typed: str = "") -> HTMLResponse:
    scope = visit.token.project
    found = read_project_ids(desk.ledger) if scope is None else (scope,)
    return page("projects.html", visit, status=status, projects=found, scope=scope, error=error, typed=typed)
