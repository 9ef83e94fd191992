"""truth_launch: let a prepared run be worked on; an orchestrator's task."""

from pydantic import BaseModel, ConfigDict

from schemas.profiles import DESK
from schemas.tool import Tool
from schemas.truth import MODEL_COST, WEB_COST, RunId


class Args(BaseModel):
    """Which run."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run_id: RunId


class Disclosure(BaseModel):
    """What a launch costs: two controls, kept apart (M30)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = MODEL_COST
    web: str = WEB_COST


class Result(BaseModel):
    """The launched run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    run_id: str
    session: str
    status: str
    state: str
    deadline_at: str
    disclosure: Disclosure = Disclosure()


TOOL = Tool(
    name="truth_launch",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="orchestrator",
    kept_by="nobody",
    description="Check a prepared Truth-analysis run once more against its bounds and let its session work on it.",
)
