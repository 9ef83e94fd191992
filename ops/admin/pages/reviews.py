"""Reviews: completed truth-analysis runs, each candidate beside the captured text that it quotes, and the decision."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AwareDatetime

from broker.ledger.truth_reviews import LIST_MAX, read_decisions, read_submitted
from broker.ledger.visits import Visit
from ops.admin.api.reviews import TruthRun
from ops.admin.bearer import ProjectId
from ops.admin.desk import AtDesk, Desk
from ops.admin.judging import Wish, judge, review_at
from ops.admin.pages.rendering import page
from ops.admin.pages.sight import Stretch, stretches
from ops.admin.pages.visiting import Proof, Visitor, insist, insist_on_form
from ops.admin.problems import Problem
from schemas.folder import Sha256
from schemas.grants import REVIEW
from schemas.truth import EVIDENCE_MAX
from schemas.truth_review import Candidate, Choice, Evidence, Review

router = APIRouter(prefix="/admin", include_in_schema=False)

CandidateHash = Annotated[Sha256, Path(alias="candidate")]
_RUN = "/projects/{projectId}/reviews/{run}"
_CANDIDATE = _RUN + "/candidates/{candidate}"
# What is told of a decision that cannot be recorded, by the problem's field or reason.
WORDS = {
    "claimId": ("claim_id", "To connect, choose one of the claims; with another decision, choose none."),
    "attach": ("evidence", "What is dismissed keeps no evidence. Select none, or decide otherwise."),
    "decision": ("save_as_proposed", "Choose one of the three decisions."),
    "decided_otherwise": (
        "decision",
        "Somebody decided this candidate meanwhile, and otherwise. Their decision holds.",
    ),
    "other_output": ("decision", "The form was made for another output. Look at what is here now."),
}


@router.get("/reviews")
def listed(visit: Visitor, desk: AtDesk, before: Annotated[AwareDatetime | None, Query()] = None) -> HTMLResponse:
    """Completed runs of the visitor's projects."""
    insist(visit, REVIEW)
    rows = read_submitted(desk.ledger, visit.token.project, before=before)
    return page("reviews.html", visit, runs=rows, earlier=rows[-1].submitted_at if len(rows) == LIST_MAX else None)


@router.get(_RUN)
def show(project_id: ProjectId, run: TruthRun, visit: Visitor, desk: AtDesk) -> HTMLResponse:
    """One run: what was searched for it, and its candidates."""
    insist(visit, REVIEW, project_id)
    review = review_at(desk, project_id, run)
    return page("review.html", visit, review=review, decisions=read_decisions(desk.ledger, run))


@router.get(_CANDIDATE)
def candidate(
    project_id: ProjectId, run: TruthRun, candidate_sha256: CandidateHash, visit: Visitor, desk: AtDesk
) -> HTMLResponse:
    """One candidate, with every quote in its text."""
    insist(visit, REVIEW, project_id)
    return _page(visit, desk, review_at(desk, project_id, run), candidate_sha256)


@router.post(_CANDIDATE)
def decide(  # noqa: PLR0913, PLR0917 - FastAPI's way of naming what a form brings
    request: Request,
    project_id: ProjectId,
    run: TruthRun,
    candidate_sha256: CandidateHash,
    visit: Visitor,
    desk: AtDesk,
    csrf: Proof,
    output: Annotated[Sha256, Form()],
    decision: Annotated[Choice | None, Form()] = None,
    claim_id: Annotated[str, Form(max_length=128)] = "",
    attach: Annotated[Sequence[Annotated[int, Form(ge=0, lt=EVIDENCE_MAX)]], Form(max_length=EVIDENCE_MAX)] = (),
) -> Response:
    """Decide on the candidate. What cannot be recorded is told beside the form, and nothing is written."""
    insist(visit, REVIEW, project_id)
    insist_on_form(request, visit.secret, request.url.path, csrf)
    review = review_at(desk, project_id, run)
    try:
        if decision is None:
            raise Problem(422, field="decision", reason="missing")  # noqa: TRY301 - as every other field that is wrong
        wish = Wish(
            candidate_sha256=candidate_sha256,
            output_sha256=output,
            decision=decision,
            claim_id=claim_id or None,
            attach=attach,
        )
        judge(desk, visit.token, review, wish)
    except Problem as problem:
        typed = {"decision": decision, "claim_id": claim_id, "attach": tuple(attach)}
        return _retold(visit, desk, review, candidate_sha256, problem, typed)
    return RedirectResponse(request.url.path, status_code=303)


def _retold(
    visit: Visit, desk: Desk, review: Review, candidate_sha256: str, problem: Problem, typed: dict[str, Any]
) -> HTMLResponse:
    told = WORDS.get(str(problem.facts.get("field"))) or WORDS.get(str(problem.facts.get("reason")))
    if told is None:
        raise problem
    return _page(visit, desk, review, candidate_sha256, status=problem.status, error=told, typed=typed)


def _page(  # noqa: PLR0913 - what a page may tell
    visit: Visit,
    desk: Desk,
    review: Review,
    candidate_sha256: str,
    *,
    status: int = 200,
    error: tuple[str, str] | None = None,
    typed: dict[str, Any] | None = None,
) -> HTMLResponse:
    found = review.candidate(candidate_sha256)
    if found is None:
        raise Problem(404)
    decision = read_decisions(desk.ledger, review.run.id).get(candidate_sha256)
    kept = [] if decision is None else [json.loads(one.body) for one in decision.verdict.attachments]
    return page(
        "candidate.html",
        visit,
        status=status,
        review=review,
        candidate=found,
        passage=stretches(review.run.passage, {0: found.expression}),
        origins={one.number: _origin(one) for one in found.evidence if one.source is None},
        texts=[(source, _marked(found, source.text, source.fetch_id)) for source in found.sources()],
        decision=decision,
        kept=kept,
        error=error,
        typed=typed or {"decision": None, "claim_id": "", "attach": ()},
    )


def _marked(found: Candidate, text: str, fetch_id: str) -> tuple[Stretch, ...]:
    """The captured text with the candidate's quotes, by their numbers on the page, which begin with one."""
    quoted = [one for one in found.evidence if one.source is not None and one.source.fetch_id == fetch_id]
    return stretches(text, {one.number + 1: one.span for one in quoted if one.span is not None})


def _origin(evidence: Evidence) -> str:
    """Where evidence that is no fetched quote comes from, in words."""
    if evidence.support is None:
        return "The passage itself: no evidence for it, never attached."
    return f"Recorded in the folder: {evidence.support['source_locator'] or evidence.support['evidence_id']}"
