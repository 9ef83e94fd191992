"""A project's web settings: read and saved (M131-M135, M139, M141)."""

from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import StringConstraints
from pydantic.json_schema import SkipJsonSchema

from broker.ledger.projects import Project, SettingsOvertaken, read_project, save_project
from ops.admin.api.bodies import Data, SettingsIn, SettingsOut
from ops.admin.bearer import Manager, ProjectId
from ops.admin.desk import AtDesk
from ops.admin.problems import Problem, documented

router = APIRouter(prefix="/api/admin/projects/{projectId}/web-search", tags=["settings"])

_TAG = {"headers": {"ETag": {"description": "The settings' generation.", "schema": {"type": "string"}}}}
Generation = Annotated[str, StringConstraints(pattern=r'^"[0-9]{1,18}"$')]
IfMatch = Annotated[
    Generation | SkipJsonSchema[None],
    Header(description="The ETag that was read: saves only what nobody saved since."),
]


@router.get("", operation_id="readWebSearch", responses={**documented(), 200: _TAG})
def read(project_id: ProjectId, _token: Manager, desk: AtDesk, response: Response) -> Data[SettingsOut]:
    """Read a project's web settings. A project that was never saved has everything off, `designer` preselected."""
    return _shown(read_project(desk.ledger, project_id), response)


@router.put("", operation_id="saveWebSearch", responses={**documented(400, 412, 413), 200: _TAG})
def save(
    project_id: ProjectId,
    token: Manager,
    wanted: SettingsIn,
    desk: AtDesk,
    response: Response,
    if_match: IfMatch = None,
) -> Data[SettingsOut]:
    """Save a project's web settings. Calls under way are answered with `settings_changed`, whatever is saved."""
    project = Project(
        id=project_id, enabled=wanted.enabled, fetch_enabled=wanted.fetchEnabled, agents=tuple(wanted.agents)
    )
    read_at = None if if_match is None else int(if_match.strip('"'))
    try:
        saved = save_project(desk.ledger, project, actor=token.actor(), read_at=read_at)
    except SettingsOvertaken:
        raise Problem(412) from None
    return _shown(saved, response)


def _shown(project: Project, response: Response) -> Data[SettingsOut]:
    response.headers["ETag"] = f'"{project.generation}"'
    return Data(
        data=SettingsOut(enabled=project.enabled, fetchEnabled=project.fetch_enabled, agents=list(project.agents))
    )
