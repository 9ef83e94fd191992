"""cowork_truth_analysis_job_submit: the run's one output."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.profiles import DESK
from schemas.tool import Effects, Tool
from schemas.truth import RunId


class Args(BaseModel):
    """What a model may write. Closed; `output` is read against the schema that job_get gave, with `invalid_output`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run_id: RunId = Field(description="Server-issued Truth-analysis run id; the session must be this run's own.")
    output: dict[str, Any] = Field(description="The output, of the output_schema that job_get gave.")


class Result(BaseModel):
    """The compact receipt (M81)."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    ok: bool = True
    schema_: str = Field(alias="schema", default="outrider/truth-submission/1")
    analysis_run_id: str
    status: str = "completed"
    output_sha256: str


TOOL = Tool(
    name="cowork_truth_analysis_job_submit",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="truth_session",
    effects=Effects(read_only=False, idempotent=True, open_world=False),
    kept_by="nobody",
    description=(
        "Submit the output of this Truth-analysis run, once: at most 20 claim candidates with 10 pieces of evidence "
        "each, 80,000 bytes. Every quote must lead to one place of the passage or of a text that this run fetched. "
        "The same output again is answered the same way, another one is refused. It is staged for a person to review: "
        "nothing is recorded as a claim or as evidence by it."
    ),
)
