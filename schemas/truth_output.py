"""The output of a run, as its worker submits it: the only schema that is accepted."""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from schemas.context import SafeId
from schemas.selector import Selector
from schemas.truth import CANDIDATES_MAX, EVIDENCE_MAX, HexId
from schemas.truth_record import Coverage

OUTPUT_SCHEMA = "outrider/truth-output/1"
LIMITATIONS_MAX = 20

Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Limitation = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Relationship = Literal["supports", "partially_supports", "contradicts", "mentions", "does_not_address", "inconclusive"]
Share = Annotated[float, Field(ge=0, le=1)]


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TruthSpan(_Closed):
    """Evidence that the folder recorded: the span of a support receipt in the context."""

    kind: Literal["truth_span"]
    span_id: SafeId
    relationship: Relationship


class WebFetch(_Closed):
    """Evidence of a fetched source: a quote that stands once in what a completed fetch of this run captured."""

    kind: Literal["web_fetch"]
    fetch_id: HexId
    selector: Selector
    relationship: Relationship


class PassageCitation(_Closed):
    """The passage's own words. They are no evidence for it, and are never attached."""

    kind: Literal["passage_citation"]
    selector: Selector
    relationship: Literal["mentions", "inconclusive"]


Evidence = Annotated[TruthSpan | WebFetch | PassageCitation, Field(discriminator="kind")]


class Expression(_Closed):
    """Where the passage makes the claim."""

    role: Word
    selector: Selector


class ClaimMatch(_Closed):
    """A claim of the context that this one meets."""

    claim_id: SafeId
    relationship: Literal["exact", "equivalent", "overlaps", "conflicts"]
    confidence: Share
    rationale: Annotated[str, StringConstraints(max_length=2_000)] = ""


class Candidate(_Closed):
    """One claim that the passage makes."""

    proposition: Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
    claim_kind: Word
    confidence_extraction: Share
    expression: Expression
    existing_claim_match: ClaimMatch | None = None
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=EVIDENCE_MAX)] = ()
    limitations: Annotated[tuple[Limitation, ...], Field(max_length=LIMITATIONS_MAX)] = ()


class Output(_Closed):
    """Everything that a run submits."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)

    schema_: Literal["outrider/truth-output/1"] = Field(alias="schema")
    source_coverage: Annotated[tuple[Coverage, ...], Field(max_length=3)]
    candidates: Annotated[tuple[Candidate, ...], Field(max_length=CANDIDATES_MAX)]
    summary: Annotated[str, StringConstraints(max_length=4_000)] = ""
    limitations: Annotated[tuple[Limitation, ...], Field(max_length=LIMITATIONS_MAX)] = ()


@cache
def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema, 2020-12, without the titles that say its names a second time."""
    plain = _untitled(model.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plain}


def _untitled(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            name: _untitled(value) for name, value in node.items() if not (name == "title" and isinstance(value, str))
        }
    return [_untitled(one) for one in node] if isinstance(node, list) else node
