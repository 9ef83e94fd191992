"""truth_cancel: end a run without an output; an orchestrator's task."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.profiles import DESK
from schemas.tool import Tool
from schemas.truth import RunId

Reason = Literal["cancelled", "worker_unavailable", "worker_exited_before_submission"]


class Args(BaseModel):
    """Which run, and why it ends: `worker_unavailable` makes it unavailable, the others failed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run_id: RunId
    reason: Reason = "cancelled"


class Result(BaseModel):
    """The run as it stands now: ended by this call, or before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    run_id: str
    status: str
    state: str
    code: str | None


TOOL = Tool(
    name="truth_cancel",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="orchestrator",
    kept_by="nobody",
    description="End a Truth-analysis run without an output. A run that has ended stays as it is.",
)
