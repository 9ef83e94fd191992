"""The bearer's door: a token in the Authorization header, its permission and its project."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Path, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from broker.ledger.tokens import Token, find_token
from ops.admin.desk import AtDesk
from ops.admin.problems import Problem
from schemas.context import SafeId
from schemas.grants import MANAGE, REVIEW, RUNS, Permission

_SCHEME = HTTPBearer(auto_error=False, description="A token of `outrider token create`.")

ProjectId = Annotated[SafeId, Path(alias="projectId", description="The project's id.")]
Given = Annotated[HTTPAuthorizationCredentials | None, Security(_SCHEME)]


def _one_of(*permissions: Permission) -> Callable[[ProjectId, AtDesk, Given], Token]:
    """The token of a request, where it carries one of these permissions for the project in the path.

    The project itself is not looked at: who may not see it cannot learn whether it is there. Raises: Problem.
    """

    def insist(project_id: ProjectId, desk: AtDesk, given: Given) -> Token:
        token = find_token(desk.ledger, given.credentials) if given is not None else None
        if token is None:
            raise Problem(401)
        if not any(token.covers(permission, project_id) for permission in permissions):
            raise Problem(403)
        return token

    return insist


Manager = Annotated[Token, Depends(_one_of(MANAGE))]
Orchestrator = Annotated[Token, Depends(_one_of(RUNS))]
Reader = Annotated[Token, Depends(_one_of(MANAGE, RUNS))]
Reviewer = Annotated[Token, Depends(_one_of(REVIEW))]
