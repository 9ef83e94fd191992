"""truth_status: where a run stands and what it submitted; an orchestrator's task."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from schemas.profiles import DESK
from schemas.tool import Tool
from schemas.truth import RunId
from schemas.truth_record import Coverage


class Args(BaseModel):
    """Which run."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run_id: RunId


class MoveOut(BaseModel):
    """A state that the run came to. Shape: `at` is UTC, ISO 8601."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    code: str | None
    at: str


class Result(BaseModel):
    """The run as it stands.

    Shape: `status` is queued, running, completed or failed; `output` is the normalised submission of a completed run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    run_id: str
    session: str
    status: str
    state: str
    code: str | None
    created_at: str
    deadline_at: str
    ended_at: str | None
    moves: tuple[MoveOut, ...]
    source_coverage: tuple[Coverage, ...]
    output_sha256: str | None = None
    output: dict[str, Any] | None = None


TOOL = Tool(
    name="truth_status",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="orchestrator",
    kept_by="nobody",
    description="Say where a Truth-analysis run stands, what its receipts cover, and what it submitted.",
)
