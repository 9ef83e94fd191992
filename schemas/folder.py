"""Folder Truth: the claims that people of a folder recorded, with the receipts that support them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from schemas.context import SafeId

CLAIMS_PER_FOLDER = 5_000
RECEIPTS_PER_FOLDER = 20_000
FOLDER_BYTES = 4_194_304  # of canonical JSON: a run is given 32 KiB of it

Word = Annotated[str, StringConstraints(min_length=1, max_length=80)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Claim(BaseModel):
    """One recorded claim. An inactive one is kept and never given to a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    claim_id: SafeId
    proposition: Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
    claim_kind: Word
    scope: Annotated[str, StringConstraints(max_length=500)] = ""
    base_status: Word = "proposed"
    needs_review: bool = False
    is_fact: bool = False
    redacted: bool = False
    active: bool = True


class Support(BaseModel):
    """One recorded support receipt: a quote of a source that supports a claim."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    span_id: SafeId
    claim_id: SafeId
    quote: Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
    evidence_id: SafeId
    evidence_kind: Word
    source_locator: Annotated[str, StringConstraints(max_length=4_096)] = ""
    content_sha256: Sha256 | None = None
    trust_class: Word
    acquired_at: Annotated[str, StringConstraints(max_length=40)] = ""


class Folder(BaseModel):
    """All that a folder holds, as one snapshot. Order: as it was recorded, which is the order runs are given it in."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    claims: tuple[Claim, ...] = Field(default=(), max_length=CLAIMS_PER_FOLDER)
    receipts: tuple[Support, ...] = Field(default=(), max_length=RECEIPTS_PER_FOLDER)

    @model_validator(mode="after")
    def _ids_are_good(self) -> Self:
        claims = {claim.claim_id for claim in self.claims}
        if len(claims) < len(self.claims):
            msg = "two claims have one id"
            raise ValueError(msg)
        if len({receipt.span_id for receipt in self.receipts}) < len(self.receipts):
            msg = "two receipts have one span id"
            raise ValueError(msg)
        if any(receipt.claim_id not in claims for receipt in self.receipts):
            msg = "a receipt names a claim that is not there"
            raise ValueError(msg)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTruth:
    """The store of one folder, opened: how a run reads it, whatever keeps it.

    Shape: `newest` gives the number of its last snapshot, 0 where there is none; `read` gives a snapshot, an empty
    folder for 0. Snapshots never change.
    """

    newest: Callable[[], int]
    read: Callable[[int], Folder]
