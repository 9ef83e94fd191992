"""Submissions: an output made normal, every quote led back to its one place, nothing believed that can be checked."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from schemas.errors import InvalidOutput, ReplayChanged
from schemas.folder import Folder
from schemas.operation import Ending, OperationState, Request
from schemas.receipt import Sent, canonical, digest_of
from schemas.selector import NotAnchored, Selector, anchor, stored_form
from schemas.truth import OUTPUT_BYTES, Output, Run
from schemas.truth_context import frozen, is_truncated
from schemas.truth_output import (
    OUTPUT_SCHEMA,
    Candidate,
    Evidence,
    PassageCitation,
    TruthSpan,
    WebFetch,
)
from schemas.truth_output import Output as Submitted
from schemas.truth_record import Record, reported

_ATTACHABLE = frozenset({"supports", "partially_supports"})
_RAW_BYTES = 4 * OUTPUT_BYTES  # what is read at all; the bound that counts is the normalised one


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a submission is held against. Shape: `claims` and `spans` are the ids that the context gave."""

    run: Run
    record: Record
    claims: frozenset[str]
    spans: frozenset[str]
    truncated: bool


def ground_of(run: Run, folder: Folder, record: Record) -> Ground:
    """The ground of a run, from its frozen context."""
    kept = frozen(run, folder)
    truth = kept["existing_truth"]
    return Ground(
        run=run,
        record=record,
        claims=frozenset(claim["claim_id"] for claim in truth["claims"]),
        spans=frozenset(receipt["span_id"] for receipt in truth["receipts"]),
        truncated=is_truncated(kept),
    )


def normalise(given: dict[str, Any], ground: Ground) -> Output:
    """The output as it is stored. The same submission gives the same bytes. Raises: InvalidOutput, ReplayChanged."""
    output = _read(given)
    distinct = _distinct(output.candidates)
    candidates = [_candidate(f"candidates.{number}", one, ground) for number, one in distinct]
    limitations = [*output.limitations, *_removed(len(output.candidates) - len(distinct))]
    submission = {
        "analysis_run_id": ground.run.id,
        "candidates": candidates,
        "limitations": limitations,
        "schema": OUTPUT_SCHEMA,
        "summary": output.summary,
    }
    coverage = reported(output.source_coverage, ground.record, truncated=ground.truncated)
    body = canonical(submission | {"source_coverage": [entry.model_dump() for entry in coverage]})
    if (size := len(body.encode())) > OUTPUT_BYTES:
        raise InvalidOutput("The output is too large.", limit_bytes=OUTPUT_BYTES, bytes=size)
    return Output(body=body, sha256=_sha256(body), submission_sha256=_sha256(canonical(submission)))


def account(request: Request, run: Run, output: Output) -> Ending:
    """The receipt of a submission: what was submitted, by digest, and which context it was made from.

    It stands in the run's chain, so that an exported run says offline which output is its own.
    """
    context = request.context
    body = canonical(
        {
            "agent": context.agent,
            "arguments_sha256": request.arguments_digest,
            "call": request.key,
            "context_sha256": run.context_sha256,
            "document": [],
            "error": None,
            "external_egress": False,
            "hops": [],
            "operation": str(uuid4()),
            "output_sha256": output.sha256,
            "project": context.project,
            "receipt": "outrider/1",
            "run": context.run,
            "sent": Sent.NOT_SENT.value,
            "state": OperationState.COMPLETED.value,
            "step": context.step,
            "tool": request.tool.name,
        }
    )
    return Ending(
        state=OperationState.COMPLETED, code=None, sent=Sent.NOT_SENT.value, body=body, digest=digest_of(body)
    )


def _read(given: dict[str, Any]) -> Submitted:
    try:
        text = canonical(given)
    except (ValueError, RecursionError):  # a number that no double holds, or nested past its reader
        raise InvalidOutput("The output has no canonical form.", field="output", reason="canonical") from None
    if (size := len(text.encode())) > _RAW_BYTES:
        raise InvalidOutput("The output is too large.", limit_bytes=OUTPUT_BYTES, bytes=size)
    try:
        return Submitted.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(name)[:40] for name in first["loc"] if str(name).isidentifier() or isinstance(name, int))
        raise InvalidOutput("The output is not of its schema.", field=place, reason=first["type"]) from None


def _distinct(candidates: Iterable[Candidate]) -> list[tuple[int, Candidate]]:
    """The candidates with their places, without those that say again what one before them said (M79)."""
    kept: dict[tuple[str, str], tuple[int, Candidate]] = {}
    for number, candidate in enumerate(candidates):
        said = (" ".join(candidate.proposition.split()).casefold(), candidate.claim_kind)
        kept.setdefault(said, (number, candidate))
    return list(kept.values())


def _removed(count: int) -> list[str]:
    return [f"Duplicate claim candidates removed: {count}."] if count else []


def _candidate(place: str, candidate: Candidate, ground: Ground) -> dict[str, Any]:
    match = candidate.existing_claim_match
    if match is not None and match.claim_id not in ground.claims:
        raise InvalidOutput("The claim is not of the run's context.", field=f"{place}.existing_claim_match")
    expression = candidate.expression
    where = f"{place}.expression.selector"
    return {
        "proposition": candidate.proposition,
        "claim_kind": candidate.claim_kind,
        "confidence_extraction": candidate.confidence_extraction,
        "expression": {
            "role": expression.role,
            "selector": _anchored(where, ground.run.passage, expression.selector),
        },
        "existing_claim_match": None if match is None else match.model_dump(),
        "evidence": [
            _evidence(f"{place}.evidence.{number}", one, ground) for number, one in enumerate(candidate.evidence)
        ],
        "limitations": list(candidate.limitations),
    }


def _evidence(place: str, evidence: Evidence, ground: Ground) -> dict[str, Any]:
    """One piece of evidence, with whether a person may attach it at all."""
    told: dict[str, Any] = {"kind": evidence.kind, "relationship": evidence.relationship}
    attachable = evidence.relationship in _ATTACHABLE
    match evidence:
        case TruthSpan():
            if evidence.span_id not in ground.spans:
                raise InvalidOutput("The span is not of the run's context.", field=f"{place}.span_id")
            return told | {"span_id": evidence.span_id, "attachable": attachable}
        case WebFetch():
            value = ground.record.fetched(evidence.fetch_id)
            if value is None:
                raise InvalidOutput("The fetch is no completed one of this run.", field=f"{place}.fetch_id")
            if _sha256(value["exact_text"]) != value["text_sha256"]:
                raise ReplayChanged("The captured text is not the one that was fetched.")
            selector = _anchored(f"{place}.selector", value["exact_text"], evidence.selector)
            source = {"source_url": value["source_url"], "text_sha256": value["text_sha256"]}
            return told | {"fetch_id": evidence.fetch_id, "selector": selector, "attachable": attachable, **source}
        case PassageCitation():
            selector = _anchored(f"{place}.selector", ground.run.passage, evidence.selector)
            return told | {"selector": selector, "attachable": False}


def _anchored(place: str, text: str, selector: Selector) -> list[dict[str, Any]]:
    try:
        return stored_form(text, anchor(text, selector))
    except NotAnchored as error:
        raise InvalidOutput("The quote does not lead to one place.", field=place, reason=str(error)) from None


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
