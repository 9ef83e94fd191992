"""truth_import: record what a folder holds; an orchestrator's task."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas.context import SafeId
from schemas.folder import CLAIMS_PER_FOLDER, RECEIPTS_PER_FOLDER, Claim, Folder, Support
from schemas.profiles import DESK
from schemas.tool import Tool


class Args(BaseModel):
    """The whole of a folder: an import replaces what the next runs are given, and nothing of earlier ones."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    folder: SafeId
    claims: tuple[Claim, ...] = Field(default=(), max_length=CLAIMS_PER_FOLDER)
    receipts: tuple[Support, ...] = Field(default=(), max_length=RECEIPTS_PER_FOLDER)

    @model_validator(mode="after")
    def _is_a_folder(self) -> Self:
        self.whole()
        return self

    def whole(self) -> Folder:
        """What is recorded."""
        return Folder(claims=self.claims, receipts=self.receipts)


class Result(BaseModel):
    """Which snapshot holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool = True
    folder: str
    snapshot: int
    claims: int
    receipts: int


TOOL = Tool(
    name="truth_import",
    queue="care",
    profile=DESK,
    args=Args,
    result=Result,
    audience="orchestrator",
    kept_by="nobody",
    description="Record a folder's claims and support receipts, as a new snapshot that later Truth-analysis runs read.",
)
