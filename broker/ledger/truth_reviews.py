"""The review desk's ledger: completed runs to judge, and what people decided, once a candidate.

Nothing here writes to a folder, an output or a receipt: a decision is a row of its own, and stays as it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Engine, RowMapping, select, text

from broker.ledger.operations import find_ended
from broker.ledger.statements import read, write
from broker.ledger.truth_folders import open_folder
from broker.ledger.truth_records import read_record
from broker.ledger.truth_runs import read_output, read_run
from broker.ledger.truth_tables import TRUTH_ATTACHMENTS, TRUTH_DECISIONS
from schemas.errors import ReplayChanged
from schemas.receipt import digest_of
from schemas.truth import Output, Run
from schemas.truth_review import Attachment, Decision, Review, Verdict, hex_digest, review_of

LIST_MAX = 50  # an output is 80,000 bytes at most: four megabytes to count in

SUBMITTED = text("""
SELECT r.id AS run, r.project, r.document, o.body, o.submitted_at,
    (SELECT count(*) FROM truth_decisions d WHERE d.run = o.run) AS decided
  FROM truth_outputs o JOIN truth_runs r ON r.id = o.run
  WHERE (CAST(:project AS text) IS NULL OR r.project = :project)
    AND (CAST(:before AS double precision) IS NULL OR o.submitted_at < to_timestamp(:before))
  ORDER BY o.submitted_at DESC LIMIT :limit
""")
# One statement: the decision, its passages and the audit row are there together or not at all.
DECIDE = text("""
WITH decided AS (
  INSERT INTO truth_decisions (run, candidate_sha256, output_sha256, decision, claim_id, attached, decided_by,
    decided_at)
  SELECT o.run, :candidate_sha256, o.sha256, :decision, :claim_id, CAST(:attached AS integer[]), :actor,
    clock_timestamp()
    FROM truth_outputs o WHERE o.run = :run AND o.sha256 = :output_sha256
  ON CONFLICT DO NOTHING RETURNING *
), kept AS (
  INSERT INTO truth_attachments (run, candidate_sha256, evidence, operation_id, body, sha256)
  SELECT d.run, d.candidate_sha256, a.evidence, a.operation_id, a.body, a.sha256
    FROM decided d, jsonb_to_recordset(CAST(:attachments AS jsonb))
      AS a (evidence integer, operation_id uuid, body text, sha256 text)
), noted AS (
  INSERT INTO audit (at, actor, action, project, facts)
  SELECT d.decided_at, d.decided_by, 'truth.candidate.decide', r.project, jsonb_build_object('run', d.run,
    'candidate_sha256', d.candidate_sha256, 'decision', d.decision, 'claim_id', d.claim_id, 'attached', d.attached)
    FROM decided d JOIN truth_runs r ON r.id = d.run
)
SELECT run FROM decided
""")


class DecidedOtherwise(Exception):
    """Somebody decided this candidate before, and not so; nothing was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A completed run in the desk's list."""

    run: str
    project: str
    title: str
    submitted_at: datetime
    candidates: int
    decided: int


def read_submitted(engine: Engine, project_id: str | None, *, before: datetime | None = None) -> tuple[Submitted, ...]:
    """Completed runs, of every project where none is named; at most fifty. Order: last submitted first."""
    # As seconds: PostgreSQL reads no offset of sixteen hours and more, and Python has no UTC for some of them.
    seconds = None if before is None else before.timestamp()
    rows = read(engine, SUBMITTED, {"project": project_id, "before": seconds, "limit": LIST_MAX})
    return tuple(_submitted(row) for row in rows)


def read_review(engine: Engine, project_id: str, run_id: str) -> Review | None:
    """The completed run of this project; None for any other. Raises: ContextChanged, ReplayChanged where altered."""
    run = read_run(engine, run_id)
    if run is None or run.project != project_id:
        return None
    output = read_output(engine, run.id)
    if output is None:
        return None
    _insist_on_receipt(engine, run, output)
    folder = open_folder(engine, run.project, run.folder).read(run.snapshot)
    return review_of(run, output, folder, read_record(engine, run.project, run.id))


def read_decisions(engine: Engine, run_id: str) -> Mapping[str, Decision]:
    """What was decided of the run's candidates, by their hashes. Raises: ReplayChanged for an altered passage."""
    decisions = read(engine, select(TRUTH_DECISIONS).where(TRUTH_DECISIONS.c.run == run_id))
    table = TRUTH_ATTACHMENTS.c
    rows = read(engine, select(TRUTH_ATTACHMENTS).where(table.run == run_id).order_by(table.evidence))
    return {one["candidate_sha256"]: _decision(one, rows) for one in decisions}


def decide(engine: Engine, review: Review, verdict: Verdict, *, actor: str) -> tuple[Decision, bool]:
    """The candidate's decision, and whether it was there before. The same verdict again changes nothing.

    Writes an audit row without content. Raises: DecidedOtherwise; ReplayChanged.
    """
    values = {
        "run": review.run.id,
        "candidate_sha256": verdict.candidate_sha256,
        "output_sha256": review.output.sha256,
        "decision": verdict.decision,
        "claim_id": verdict.claim_id,
        "attached": [one.evidence for one in verdict.attachments],
        "attachments": json.dumps([asdict(one) for one in verdict.attachments]),
        "actor": actor,
    }
    done = bool(write(engine, DECIDE, values))
    kept = read_decisions(engine, review.run.id).get(verdict.candidate_sha256)
    if kept is None:
        raise ReplayChanged("The run's output is not the one that was read.", run=review.run.id)
    if kept.verdict != verdict:
        raise DecidedOtherwise
    return kept, not done


def _insist_on_receipt(engine: Engine, run: Run, output: Output) -> None:
    """The run's chain says which output is its own."""
    stored = find_ended(engine, run.project, f"{run.id}/submit")
    if (
        stored is None
        or digest_of(stored.body) != stored.digest
        or json.loads(stored.body)["output_sha256"] != output.sha256
    ):
        raise ReplayChanged("The run's output is not the one that was submitted.", run=run.id)


def _submitted(row: RowMapping) -> Submitted:
    document, output = json.loads(row["document"]), json.loads(row["body"])
    return Submitted(
        run=row["run"],
        project=row["project"],
        title=document["title"] or document["id"],
        submitted_at=row["submitted_at"],
        candidates=len(output["candidates"]),
        decided=row["decided"],
    )


def _decision(row: RowMapping, rows: Sequence[RowMapping]) -> Decision:
    attachments = tuple(
        Attachment(**{name: one[name] for name in Attachment.__dataclass_fields__})
        for one in rows
        if one["candidate_sha256"] == row["candidate_sha256"]
    )
    if [one.evidence for one in attachments] != row["attached"]:
        raise ReplayChanged("The selected passages are not those that were recorded.", run=row["run"])
    if any(hex_digest(one.body) != one.sha256 for one in attachments):
        raise ReplayChanged("A selected passage was altered.", run=row["run"])
    verdict = Verdict(
        candidate_sha256=row["candidate_sha256"],
        decision=row["decision"],
        claim_id=row["claim_id"],
        attachments=attachments,
    )
    return Decision(
        verdict=verdict,
        output_sha256=row["output_sha256"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
    )
