"""cowork_truth_analysis_search: hits for a run, of which each may be fetched."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from schemas.profiles import TRUTH_SEARCH
from schemas.query import readable_query
from schemas.tool import Effects, Tool
from schemas.truth import QUERY_CHARS, WEB_COST, RunId


def _one_line(query: object) -> object:
    """The query with one space between its words: what is searched, and what makes two queries the same (M32)."""
    return " ".join(query.split()) if isinstance(query, str) else query


class Args(BaseModel):
    """What a model may write. Closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run_id: RunId = Field(description="Server-issued Truth-analysis run id; the session must be this run's own.")
    query: Annotated[
        str,
        BeforeValidator(_one_line),
        StringConstraints(min_length=1, max_length=QUERY_CHARS),
        AfterValidator(readable_query),
    ] = Field(description="Public words to search for; three different queries a run.")


class HitOut(BaseModel):
    """One hit: a lead, never evidence (M37)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hit_id: str
    position: int
    title: str
    url: str
    snippet: str
    lead_only: bool = True


class Result(BaseModel):
    """What was found. Shape: at most five hits, in the provider's order; a repeat of the query gives the same value."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    ok: bool = True
    schema_: str = Field(alias="schema")
    analysis_run_id: str
    search_id: str
    status: str = "completed"
    query: str
    provider: str
    hits: tuple[HitOut, ...]
    searched_at: str
    external_egress: bool = True
    notice: str


TOOL = Tool(
    name="cowork_truth_analysis_search",
    queue="search",
    profile=TRUTH_SEARCH,
    args=Args,
    result=Result,
    audience="truth_session",
    effects=Effects(read_only=False, idempotent=True),
    kept_by="run",
    description=(
        "Search the public web for this Truth-analysis run: at most three queries, five hits each. Hits and snippets "
        "are leads, never evidence: fetch a hit by its id. A query asked before is answered again from its receipt. "
        + WEB_COST
    ),
)
