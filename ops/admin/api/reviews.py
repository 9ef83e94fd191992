"""The review desk: completed truth-analysis runs, and what a person decides of their candidates (M27, M65, M80)."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

from fastapi import APIRouter, Path, Query

from broker.ledger.truth_reviews import read_decisions, read_submitted
from ops.admin.api.bodies import Data
from ops.admin.api.review_bodies import (
    AttachmentOut,
    CandidateOut,
    DecisionIn,
    DecisionOut,
    EvidenceOut,
    ListIn,
    LookupOut,
    ReviewOut,
    SourceOut,
    SubmittedOut,
)
from ops.admin.bearer import ProjectId, Reviewer
from ops.admin.desk import AtDesk
from ops.admin.judging import Wish, judge, review_at
from ops.admin.problems import documented
from schemas.truth import QUARANTINE, RunId
from schemas.truth_record import Account
from schemas.truth_review import Candidate, Decision, Evidence, Review, Source

router = APIRouter(prefix="/api/admin/projects/{projectId}/reviews", tags=["reviews"])

TruthRun = Annotated[RunId, Path(description="The truth-analysis run.")]


@router.get("", operation_id="listReviews", responses=documented())
def submitted(
    project_id: ProjectId, _token: Reviewer, desk: AtDesk, asked: Annotated[ListIn, Query()]
) -> Data[list[SubmittedOut]]:
    """List completed runs, fifty at most, the last submitted first."""
    rows = read_submitted(desk.ledger, project_id, before=asked.before)
    return Data(
        data=[
            SubmittedOut(
                run=one.run,
                title=one.title,
                submitted_at=one.submitted_at,
                candidates=one.candidates,
                decided=one.decided,
            )
            for one in rows
        ]
    )


@router.get("/{run}", operation_id="readReview", responses=documented(404, 409))
def read(project_id: ProjectId, run: TruthRun, _token: Reviewer, desk: AtDesk) -> Data[ReviewOut]:
    """Read a completed run with the captured texts that its candidates quote."""
    review = review_at(desk, project_id, run)
    return Data(data=_review(review, read_decisions(desk.ledger, run)))


@router.post("/{run}/decisions", operation_id="decideCandidate", responses=documented(400, 404, 409, 413))
def decide(
    project_id: ProjectId, run: TruthRun, token: Reviewer, wanted: DecisionIn, desk: AtDesk
) -> Data[DecisionOut]:
    """Decide on a candidate, once. The same decision again is answered with the one that is recorded."""
    wish = Wish(
        candidate_sha256=wanted.candidate_sha256,
        output_sha256=wanted.output_sha256,
        decision=wanted.decision,
        claim_id=wanted.claim_id,
        attach=wanted.attach,
    )
    return Data(data=_decision(judge(desk, token, review_at(desk, project_id, run), wish)))


def _review(review: Review, decisions: Mapping[str, Decision]) -> ReviewOut:
    sources = {source.fetch_id: source for one in review.candidates for source in one.sources()}
    return ReviewOut(
        run=review.run.id,
        output_sha256=review.output.sha256,
        passage=review.run.passage,
        summary=review.summary,
        limitations=list(review.limitations),
        coverage=list(review.coverage),
        searches=_lookups(review.record.searches, "query"),
        fetches=_lookups(review.record.fetches, "source_url"),
        sources=[_source(one) for one in sources.values()],
        candidates=[_candidate(one, decisions.get(one.sha256)) for one in review.candidates],
        notice=QUARANTINE,
    )


def _lookups(accounts: Iterable[Account], name: str) -> list[LookupOut]:
    return [
        LookupOut(
            receipt=one.operation_id,
            state=one.state.value,
            code=one.code,
            what=None if one.value is None else one.value[name],
        )
        for one in accounts
    ]


def _source(source: Source) -> SourceOut:
    return SourceOut(
        fetch_id=source.fetch_id,
        receipt=source.operation_id,
        receipt_digest=source.digest,
        source_url=source.url,
        title=source.title,
        text=source.text,
        text_sha256=source.text_sha256,
        text_truncated=source.text_truncated,
        acquired_at=source.acquired_at,
    )


def _candidate(candidate: Candidate, decision: Decision | None) -> CandidateOut:
    return CandidateOut(
        sha256=candidate.sha256,
        proposition=candidate.proposition,
        claim_kind=candidate.claim_kind,
        confidence=candidate.confidence,
        start=candidate.expression.start,
        end=candidate.expression.end,
        existing_claim_match=candidate.match,
        evidence=[_evidence(one) for one in candidate.evidence],
        limitations=list(candidate.limitations),
        decision=None if decision is None else _decision(decision),
    )


def _evidence(evidence: Evidence) -> EvidenceOut:
    return EvidenceOut(
        number=evidence.number,
        kind=evidence.kind,
        relationship=evidence.relationship,
        attachable=evidence.attachable,
        exact=evidence.exact,
        selector=evidence.selector,
        fetch_id=None if evidence.source is None else evidence.source.fetch_id,
        span_id=None if evidence.support is None else evidence.support["span_id"],
    )


def _decision(decision: Decision) -> DecisionOut:
    verdict = decision.verdict
    return DecisionOut(
        candidate_sha256=verdict.candidate_sha256,
        output_sha256=decision.output_sha256,
        decision=verdict.decision,
        claim_id=verdict.claim_id,
        attachments=[
            AttachmentOut(evidence=one.evidence, passage=json.loads(one.body), sha256=one.sha256)
            for one in verdict.attachments
        ],
        decided_by=decision.decided_by,
        decided_at=decision.decided_at,
    )
