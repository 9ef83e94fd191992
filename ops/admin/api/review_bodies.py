"""The bodies of the review desk's API."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from schemas.context import SafeId
from schemas.folder import Sha256
from schemas.truth import EVIDENCE_MAX
from schemas.truth_record import Coverage
from schemas.truth_review import Choice


class _Body(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


def _whole(given: object) -> object:
    """6.0 as 6: JSON Schema knows one kind of number."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


EvidenceNumber = Annotated[int, Field(ge=0, lt=EVIDENCE_MAX), BeforeValidator(_whole)]


class ListIn(BaseModel):
    """Which completed runs are listed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    before: AwareDatetime | SkipJsonSchema[None] = Field(
        default=None, description="Only runs that were submitted before this instant."
    )


class SubmittedOut(_Body):
    """A completed run in the list."""

    run: str
    title: str
    submitted_at: datetime
    candidates: int
    decided: int


class AttachmentOut(_Body):
    """A selected passage. `passage`: its exact text, selector, source, fetch receipt and digests, as recorded."""

    evidence: int
    passage: dict[str, Any]
    sha256: str


class DecisionOut(_Body):
    """What was decided of a candidate, by whom and when."""

    candidate_sha256: str
    output_sha256: str
    decision: Choice
    claim_id: str | None
    attachments: list[AttachmentOut]
    decided_by: str
    decided_at: datetime


class EvidenceOut(_Body):
    """A piece of evidence. `selector`: the quote's two W3C selectors; `fetchId` names the source that it stands in."""

    number: int
    kind: str
    relationship: str
    attachable: bool
    exact: str
    selector: list[dict[str, Any]] | None
    fetch_id: str | None
    span_id: str | None


class CandidateOut(_Body):
    """A claim candidate, and the decision on it."""

    sha256: str
    proposition: str
    claim_kind: str
    confidence: float
    start: int
    end: int
    existing_claim_match: dict[str, Any] | None
    evidence: list[EvidenceOut]
    limitations: list[str]
    decision: DecisionOut | None


class SourceOut(_Body):
    """A captured text that candidates quote. It is external quarantined material, and no fact."""

    fetch_id: str
    receipt: str
    receipt_digest: str
    source_url: str
    title: str
    text: str
    text_sha256: str
    text_truncated: bool
    acquired_at: str


class LookupOut(_Body):
    """A search or a fetch of the run, as its receipt tells."""

    receipt: str
    state: str
    code: str | None
    what: str | None


class ReviewOut(_Body):
    """A completed run: its passage, what was searched for it, and its candidates."""

    run: str
    output_sha256: str
    passage: str
    summary: str
    limitations: list[str]
    coverage: list[Coverage]
    searches: list[LookupOut]
    fetches: list[LookupOut]
    sources: list[SourceOut]
    candidates: list[CandidateOut]
    notice: str


class DecisionIn(_Body):
    """A decision on one candidate of the output that was read. What `attach` does not name stays quarantined.

    `claimId` comes with `connect_existing` alone; `attach` are numbers of attachable evidence, none with `dismiss`.
    """

    candidate_sha256: Sha256
    output_sha256: Sha256
    decision: Choice
    claim_id: SafeId | None = None
    attach: Annotated[list[EvidenceNumber], Field(max_length=EVIDENCE_MAX)] = []
