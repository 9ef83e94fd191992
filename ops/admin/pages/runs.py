"""One run: what its agents called, what that reserved, and which steps run again on a retry."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from broker.ledger.runs import read_agent_calls, read_live_steps, read_run_log
from ops.admin.api.agents import Run
from ops.admin.bearer import ProjectId
from ops.admin.desk import AtDesk
from ops.admin.pages.rendering import page
from ops.admin.pages.visiting import Visitor, insist
from schemas.grants import MANAGE

router = APIRouter(prefix="/admin/projects/{projectId}/runs", include_in_schema=False)


@router.get("/{run}")
def show(project_id: ProjectId, run: Run, visit: Visitor, desk: AtDesk) -> HTMLResponse:
    """The page of a run."""
    insist(visit, MANAGE, project_id)
    return page(
        "run.html",
        visit,
        project_id=project_id,
        run=run,
        calls=read_agent_calls(desk.ledger, project_id, run),
        steps=read_live_steps(desk.ledger, project_id, run),
        log=read_run_log(desk.ledger, project_id, run),
    )
