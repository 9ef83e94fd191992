"""Reviews: a completed run as a person judges it, and what a decision of theirs comes to.

Everything here was checked when it was submitted, and is checked once more: a person is shown no quote that does not
stand in the captured text, and no text but the one that its fetch's receipt holds.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from schemas.errors import ContextChanged, ReplayChanged
from schemas.folder import Folder
from schemas.receipt import canonical
from schemas.selector import Span
from schemas.truth import Output, Run
from schemas.truth_context import digest_of, frozen
from schemas.truth_record import Coverage, Record

Choice = Literal["save_as_proposed", "connect_existing", "dismiss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a fetch of the run captured, and its receipt. Shape: `digest` is the receipt's, `text_sha256` hex."""

    fetch_id: str
    operation_id: str
    digest: str
    url: str
    requested_url: str
    title: str
    text: str
    text_sha256: str
    text_truncated: bool
    acquired_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence of a candidate.

    Shape: `selector` is the stored pair of W3C selectors, None for a truth_span; `source` is a web_fetch's, `support` a
    truth_span's receipt in the run's context. `exact` are the quoted words of any kind.
    """

    number: int
    kind: Literal["truth_span", "web_fetch", "passage_citation"]
    relationship: str
    attachable: bool
    exact: str
    selector: list[dict[str, Any]] | None
    source: Source | None
    support: dict[str, Any] | None

    @property
    def span(self) -> Span | None:
        """Where the quote stands in its text."""
        return None if self.selector is None else span_of(self.selector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One claim candidate. Shape: `sha256` is over its canonical JSON; `expression` is its place in the passage."""

    sha256: str
    proposition: str
    claim_kind: str
    confidence: float
    role: str
    expression: Span
    match: dict[str, Any] | None
    evidence: tuple[Evidence, ...]
    limitations: tuple[str, ...]

    def sources(self) -> tuple[Source, ...]:
        """The fetched texts that its evidence quotes. Order: as first quoted."""
        named = {one.source.fetch_id: one.source for one in self.evidence if one.source is not None}
        return tuple(named.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A completed run. Shape: `claims` are those of its context, which a candidate may be connected to."""

    run: Run
    output: Output
    coverage: tuple[Coverage, ...]
    record: Record
    candidates: tuple[Candidate, ...]
    claims: tuple[dict[str, Any], ...]
    summary: str
    limitations: tuple[str, ...]

    def candidate(self, candidate_sha256: str) -> Candidate | None:
        """The candidate of that hash."""
        return next((one for one in self.candidates if one.sha256 == candidate_sha256), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An exact passage that a person selected. Shape: `body` is canonical JSON, `sha256` its hex digest."""

    evidence: int
    operation_id: str | None
    body: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a person decides of one candidate; nothing is attached that is not named."""

    candidate_sha256: str
    decision: Choice
    claim_id: str | None
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict as it was recorded."""

    verdict: Verdict
    output_sha256: str
    decided_by: str
    decided_at: datetime


class NotDecidable(ValueError):
    """The verdict is none that can be given. Facts: `field`, `reason`."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason


def review_of(run: Run, output: Output, folder: Folder, record: Record) -> Review:
    """The run as a person sees it. Raises: ContextChanged, ReplayChanged where anything was altered since."""
    context = frozen(run, folder)
    if digest_of(context) != run.context_sha256:
        raise ContextChanged("The run's context is not the one that was prepared.", run=run.id)
    if hex_digest(output.body) != output.sha256:
        raise ReplayChanged("The run's output is not the one that was submitted.", run=run.id)
    told = json.loads(output.body)
    truth = context["existing_truth"]
    spans = {receipt["span_id"]: receipt for receipt in truth["receipts"]}
    return Review(
        run=run,
        output=output,
        coverage=tuple(Coverage(**entry) for entry in told["source_coverage"]),
        record=record,
        candidates=tuple(_candidate(one, run, record, spans) for one in told["candidates"]),
        claims=tuple(truth["claims"]),
        summary=told["summary"],
        limitations=tuple(told["limitations"]),
    )


def verdict_of(
    review: Review, candidate: Candidate, decision: Choice, claim_id: str | None, attach: Iterable[int]
) -> Verdict:
    """The verdict with the passages that it promotes. Raises: NotDecidable."""
    wanted = sorted(set(attach))
    if (decision == "connect_existing") != (claim_id is not None):
        raise NotDecidable("claimId", "missing" if claim_id is None else "not_of_this_decision")
    if claim_id is not None and claim_id not in {claim["claim_id"] for claim in review.claims}:
        raise NotDecidable("claimId", "not_of_the_context")
    if wanted and decision == "dismiss":
        raise NotDecidable("attach", "not_of_this_decision")
    by_number = {one.number: one for one in candidate.evidence if one.attachable}
    if not by_number.keys() >= set(wanted):
        raise NotDecidable("attach", "not_attachable")
    return Verdict(
        candidate_sha256=candidate.sha256,
        decision=decision,
        claim_id=claim_id,
        attachments=tuple(_attachment(by_number[number]) for number in wanted),
    )


def span_of(selector: list[dict[str, Any]]) -> Span:
    """The place that a stored pair of selectors names."""
    return Span(selector[1]["start"], selector[1]["end"])


def hex_digest(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return sha256(text.encode()).hexdigest()


def _candidate(told: dict[str, Any], run: Run, record: Record, spans: dict[str, Any]) -> Candidate:
    selector = told["expression"]["selector"]
    _insist_on(run.passage, selector)
    return Candidate(
        sha256=hex_digest(canonical(told)),
        proposition=told["proposition"],
        claim_kind=told["claim_kind"],
        confidence=told["confidence_extraction"],
        role=told["expression"]["role"],
        expression=span_of(selector),
        match=told["existing_claim_match"],
        evidence=tuple(_evidence(number, one, run, (record, spans)) for number, one in enumerate(told["evidence"])),
        limitations=tuple(told["limitations"]),
    )


def _evidence(number: int, told: dict[str, Any], run: Run, ground: tuple[Record, dict[str, Any]]) -> Evidence:
    record, spans = ground
    source, support, selector = None, None, told.get("selector")
    if told["kind"] == "truth_span":
        support = spans[told["span_id"]]
    elif told["kind"] == "web_fetch":
        source = _source(told, record)
        _insist_on(source.text, told["selector"])
    else:
        _insist_on(run.passage, told["selector"])
    return Evidence(
        number=number,
        kind=told["kind"],
        relationship=told["relationship"],
        attachable=told["attachable"],
        exact=support["quote"] if support is not None else told["selector"][0]["exact"],
        selector=selector,
        source=source,
        support=support,
    )


def _source(told: dict[str, Any], record: Record) -> Source:
    account = record.fetch(told["fetch_id"])
    if account is None or account.value is None or account.digest is None:
        raise ReplayChanged("A quoted fetch is none of this run's.", fetch=told["fetch_id"])
    value = account.value
    said = (value["text_sha256"], value["source_url"])
    if said != (told["text_sha256"], told["source_url"]) or hex_digest(value["exact_text"]) != value["text_sha256"]:
        raise ReplayChanged("The captured text is not the one that was quoted.", operation=account.operation_id)
    return Source(
        fetch_id=value["fetch_id"],
        operation_id=account.operation_id,
        digest=account.digest,
        url=value["source_url"],
        requested_url=value["requested_url"],
        title=value["title"],
        text=value["exact_text"],
        text_sha256=value["text_sha256"],
        text_truncated=value["acquisition_metadata"]["text_truncated"],
        acquired_at=value["acquired_at"],
    )


def _insist_on(text: str, selector: list[dict[str, Any]]) -> None:
    span = span_of(selector)
    if text[span.start : span.end] != selector[0]["exact"]:
        raise ReplayChanged("A quote does not stand where the output says.")


def _attachment(evidence: Evidence) -> Attachment:
    """The passage with all that leads back to it, as it is kept."""
    told: dict[str, Any] = {
        "kind": evidence.kind,
        "relationship": evidence.relationship,
        "exact": evidence.exact,
        "exact_sha256": hex_digest(evidence.exact),
    }
    if evidence.source is not None:
        source = evidence.source
        told |= {
            "selector": evidence.selector,
            "fetch_id": source.fetch_id,
            "source_url": source.url,
            "requested_url": source.requested_url,
            "title": source.title,
            "text_sha256": source.text_sha256,
            "text_truncated": source.text_truncated,
            "acquired_at": source.acquired_at,
            "receipt": {"operation": source.operation_id, "digest": source.digest},
        }
    if evidence.support is not None:
        told |= {name: evidence.support[name] for name in ("span_id", "claim_id", "evidence_id", "span_sha256")}
    body = canonical(told)
    operation_id = None if evidence.source is None else evidence.source.operation_id
    return Attachment(evidence=evidence.number, operation_id=operation_id, body=body, sha256=hex_digest(body))
