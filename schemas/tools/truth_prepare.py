"""truth_prepare: freeze a passage and what its folder holds into a run; an orchestrator's task."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from schemas.context import SafeId
from schemas.folder import CLAIMS_PER_FOLDER, RECEIPTS_PER_FOLDER, Claim, Folder, Sha256, Support
from schemas.profiles import DESK
from schemas.selector import Around
from schemas.tool import Tool


class Document(BaseModel):
    """Which document the passage was selected in."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    title: Annotated[str, StringConstraints(max_length=500)] = ""
    sha256: Sha256 | None = None


class PassageSelector(BaseModel):
    """Where in its document the passage stands. Unit: code points, `end` exclusive; `exact` is the passage itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    exact: str | None = None
    prefix: Around = ""
    suffix: Around = ""
    start: int = Field(ge=0)
    end: int = Field(ge=1)


def _storable(passage: str) -> str:
    if "\x00" in passage:
        msg = "a passage holds no NUL, which no database keeps"
        raise ValueError(msg)
    return passage


class Args(BaseModel):
    """A run's whole input. Claims and receipts that come with it are recorded in its folder first."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    document: Document
    passage: Annotated[str, StringConstraints(min_length=1), AfterValidator(_storable)]
    selector: PassageSelector
    folder: SafeId
    claims: tuple[Claim, ...] | None = Field(default=None, max_length=CLAIMS_PER_FOLDER)
    receipts: tuple[Support, ...] | None = Field(default=None, max_length=RECEIPTS_PER_FOLDER)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.selector.exact not in (None, self.passage):
            msg = "the selector's exact text is not the passage"
            raise ValueError(msg)
        if self.selector.end - self.selector.start != len(self.passage):
            msg = "the selector's position is not as long as the passage"
            raise ValueError(msg)
        self.given_folder()
        return self

    def given_folder(self) -> Folder | None:
        """What is recorded in the folder before the run is prepared; None where nothing came with it."""
        if self.claims is None and self.receipts is None:
            return None
        return Folder(claims=self.claims or (), receipts=self.receipts or ())


class Result(BaseModel):
    """The run, and the one session that may work on it. Unit: `context_bytes` of canonical JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    run_id: str
    session: str
    status: str
    state: str
    snapshot: int
    context_sha256: str
    created_at: str
    deadline_at: str


TOOL = Tool(
    name="truth_prepare",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="orchestrator",
    kept_by="nobody",
    description="Freeze a passage and its folder's bounded Truth into a Truth-analysis run; gives its session.",
)
