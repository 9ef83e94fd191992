"""Judging: one decision on one candidate, through the API and through the page alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from broker.ledger.tokens import Token
from broker.ledger.truth_reviews import DecidedOtherwise, decide, read_review
from ops.admin.desk import Desk
from ops.admin.problems import Problem
from schemas.truth_review import Choice, Decision, NotDecidable, Review, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for. Shape: `output_sha256` is of the output that the person read."""

    candidate_sha256: str
    output_sha256: str
    decision: Choice
    claim_id: str | None
    attach: Iterable[int]


def review_at(desk: Desk, project_id: str, run: str) -> Review:
    """The completed run. Raises: Problem for one that is not there or not completed."""
    review = read_review(desk.ledger, project_id, run)
    if review is None:
        raise Problem(404)
    return review


def judge(desk: Desk, token: Token, review: Review, wish: Wish) -> Decision:
    """The decision, recorded now or the same before. Raises: Problem."""
    candidate = review.candidate(wish.candidate_sha256)
    if candidate is None:
        raise Problem(404)
    if wish.output_sha256 != review.output.sha256:
        raise Problem(409, reason="other_output")
    try:
        verdict = verdict_of(review, candidate, wish.decision, wish.claim_id, wish.attach)
    except NotDecidable as error:
        raise Problem(422, field=error.field, reason=error.reason) from None
    try:
        return decide(desk.ledger, review, verdict, actor=token.actor())[0]
    except DecidedOtherwise:
        raise Problem(409, reason="decided_otherwise") from None
