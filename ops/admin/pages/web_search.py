"""Administration -> Projects -> project -> Web search & fetch: the three settings, and what became of them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import TypeAdapter, ValidationError

from broker.ledger.activity import read_budgets, read_ended, read_leases, read_slots
from broker.ledger.agents import read_agents, save_tool_list
from broker.ledger.audit import read_audit
from broker.ledger.projects import Project, SettingsOvertaken, read_project, save_project
from broker.ledger.visits import Visit
from ops.admin.api.agents import AgentName
from ops.admin.api.bodies import AGENTS_MAX
from ops.admin.bearer import ProjectId
from ops.admin.desk import AtDesk, Desk
from ops.admin.pages.rendering import page
from ops.admin.pages.visiting import Proof, Visitor, insist, insist_on_form
from schemas.context import SafeId
from schemas.grants import MANAGE, families_of, tools_of
from schemas.limits import Quota
from schemas.tools import catalogue

router = APIRouter(prefix="/admin/projects/{projectId}", include_in_schema=False)
OVERTAKEN = "Somebody saved these settings since you opened the page. Nothing was saved; look at what holds now."
# What each choice of an agent's own tool list means.
CHOICES: dict[str, tuple[str, ...] | None] = {
    "permitted": None,
    "none": (),
    "search": ("web_search",),
    "fetch": ("web_fetch",),
    "both": ("web_search", "web_fetch"),
}


@router.get("/web-search")
def show(
    project_id: ProjectId,
    visit: Visitor,
    desk: AtDesk,
    saved: Annotated[bool, Query()] = False,  # noqa: FBT002 - a query's word
) -> HTMLResponse:
    """The page."""
    insist(visit, MANAGE, project_id)
    return _page(visit, desk, read_project(desk.ledger, project_id), saved=saved)


@router.post("/web-search")
def save(  # noqa: PLR0913, PLR0917 - FastAPI's way of naming what a form brings
    request: Request,
    project_id: ProjectId,
    visit: Visitor,
    desk: AtDesk,
    csrf: Proof,
    generation: Annotated[int, Form(ge=0)],
    enabled: Annotated[bool, Form()] = False,  # noqa: FBT002 - a box that is not ticked is not sent
    fetch_enabled: Annotated[bool, Form()] = False,  # noqa: FBT002
    agents: Annotated[str, Form(max_length=30_000)] = "",
) -> Response:
    """Save the three settings. What was saved meanwhile by somebody else is not overwritten unseen."""
    insist(visit, MANAGE, project_id)
    insist_on_form(request, visit.secret, request.url.path, csrf)
    names, wrong = _names(agents)
    wanted = Project(id=project_id, enabled=enabled, fetch_enabled=fetch_enabled, agents=names)
    if wrong is not None:
        shown = replace(wanted, generation=generation)
        return _page(visit, desk, shown, status=422, error=("agents", wrong), typed=agents)
    try:
        save_project(desk.ledger, wanted, actor=visit.token.actor(), read_at=generation)
    except SettingsOvertaken:
        now = read_project(desk.ledger, project_id)
        return _page(visit, desk, now, status=409, error=("settings", OVERTAKEN))
    return RedirectResponse(f"{request.url.path}?saved=1", status_code=303)


@router.post("/agents/{agent}/tools")
def save_tools(  # noqa: PLR0913, PLR0917 - FastAPI's way of naming what a form brings
    request: Request,
    project_id: ProjectId,
    agent: AgentName,
    visit: Visitor,
    desk: AtDesk,
    csrf: Proof,
    choice: Annotated[str, Form(max_length=20)],
) -> Response:
    """Save an agent's own tool list."""
    insist(visit, MANAGE, project_id)
    insist_on_form(request, visit.secret, request.url.path, csrf)
    tools = CHOICES.get(choice)
    families = None if tools is None else families_of(tools)
    save_tool_list(desk.ledger, project_id, agent, families, actor=visit.token.actor())
    return RedirectResponse(f"/admin/projects/{project_id}/web-search?saved=1", status_code=303)


def _names(text: str) -> tuple[tuple[str, ...], str | None]:
    """The agents that were typed, one a line or with commas; and what is wrong with them."""
    words = dict.fromkeys(word for line in text.splitlines() for word in line.replace(",", " ").split())
    if len(words) > AGENTS_MAX:
        return (), f"A project permits {AGENTS_MAX} agents at most; these are {len(words)}."
    for word in words:
        try:
            TypeAdapter(SafeId).validate_python(word)
        except ValidationError:
            why = "letters, digits and . _ : - (first a letter or a digit), 128 at most"
            return (), f"“{word[:60]}” is no agent's name: {why}."
    return tuple(words), None


def _page(  # noqa: PLR0913 - what a page may tell
    visit: Visit,
    desk: Desk,
    project: Project,
    *,
    status: int = 200,
    saved: bool = False,
    error: tuple[str, str] | None = None,
    typed: str | None = None,
) -> HTMLResponse:
    ledger = desk.ledger
    agents = [
        {"name": one.name, "permitted": one.permitted, "choice": _choice(one.listed), "tools": tools_of(one.families)}
        for one in read_agents(ledger, project.id)
    ]
    return page(
        "web_search.html",
        visit,
        status=status,
        project=project,
        typed="\n".join(project.agents) if typed is None else typed,
        saved=saved,
        error=error,
        agents=agents,
        quotas=quotas(),
        slots=read_slots(ledger, project.id),
        spent=read_budgets(ledger, project.id),
        leases=read_leases(ledger, project.id),
        ended=read_ended(ledger, project.id),
        audit=read_audit(ledger, project.id, limit=25),
    )


def quotas() -> dict[str, Quota]:
    """What a project may spend, by family, as the profiles say."""
    return {tool.profile.family: tool.profile.quota for tool in catalogue().values()}


def _choice(listed: Iterable[Any] | None) -> str:
    if listed is None:
        return "permitted"
    tools = tools_of(tuple(listed))
    return next(word for word, named in CHOICES.items() if named is not None and sorted(named) == sorted(tools))
