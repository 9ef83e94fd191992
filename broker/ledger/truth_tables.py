"""The tables of truth analysis, for reading, beside the ledger's others. Migrations 0007 and 0009 make them."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from broker.ledger.metadata import INSTANT, METADATA

_HEX = "~ '^[0-9a-f]{64}$'"

TRUTH_FOLDERS = Table(
    "truth_folders",
    METADATA,
    Column("project", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("snapshot", Integer, CheckConstraint("snapshot >= 1", name="snapshot"), nullable=False),
    Column("body", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("imported_at", INSTANT, nullable=False),
    CheckConstraint("octet_length(body) <= 4194304", name="body"),
    CheckConstraint(f"sha256 {_HEX}", name="sha256"),
    PrimaryKeyConstraint("project", "folder", "snapshot"),
)

TRUTH_RUNS = Table(
    "truth_runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("project", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("arguments_digest", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("snapshot", Integer, CheckConstraint("snapshot >= 0", name="snapshot"), nullable=False),
    Column("document", Text, nullable=False),
    Column("passage", Text, nullable=False),
    Column("selector", Text, nullable=False),
    Column("context_sha256", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("code", Text),
    Column("created_at", INSTANT, nullable=False),
    Column("deadline_at", INSTANT, nullable=False),
    Column("ended_at", INSTANT),
    UniqueConstraint("project", "call", name="uq_truth_runs_project_call"),
    CheckConstraint(f"arguments_digest {_HEX}", name="arguments_digest"),
    CheckConstraint("session = id || '-cowork-truth-analysis'", name="session"),
    CheckConstraint("octet_length(passage) BETWEEN 1 AND 32768", name="passage"),
    CheckConstraint(f"context_sha256 {_HEX}", name="context_sha256"),
    CheckConstraint(
        "state IN ('prepared', 'launching', 'running', 'completed', 'unavailable', 'failed')", name="state"
    ),
    CheckConstraint("deadline_at > created_at", name="deadline"),
    CheckConstraint("(state IN ('prepared', 'launching', 'running')) = (ended_at IS NULL)", name="ending"),
    CheckConstraint("(state IN ('unavailable', 'failed')) = (code IS NOT NULL)", name="code"),
    Index("ix_truth_runs_active", "deadline_at", postgresql_where=text("ended_at IS NULL")),
    postgresql_with={"autovacuum_vacuum_scale_factor": 0.02},
)

TRUTH_MOVES = Table(
    "truth_moves",
    METADATA,
    Column("run", Text, ForeignKey("truth_runs.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("code", Text),
    Column("at", INSTANT, nullable=False),
    PrimaryKeyConstraint("run", "state"),
)

TRUTH_OUTPUTS = Table(
    "truth_outputs",
    METADATA,
    Column("run", Text, ForeignKey("truth_runs.id"), primary_key=True),
    Column("body", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("submission_sha256", Text, nullable=False),
    Column("submitted_at", INSTANT, nullable=False),
    CheckConstraint("octet_length(body) <= 80000", name="body"),
    CheckConstraint(f"sha256 {_HEX}", name="sha256"),
    CheckConstraint(f"submission_sha256 {_HEX}", name="submission"),
    Index("ix_truth_outputs_submitted_at", "submitted_at"),
)

TRUTH_DECISIONS = Table(
    "truth_decisions",
    METADATA,
    Column("run", Text, ForeignKey("truth_outputs.run"), nullable=False),
    Column("candidate_sha256", Text, nullable=False),
    Column("output_sha256", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("claim_id", Text),
    Column("attached", ARRAY(Integer), nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("decided_at", INSTANT, nullable=False),
    CheckConstraint(f"candidate_sha256 {_HEX}", name="candidate"),
    CheckConstraint(f"output_sha256 {_HEX}", name="output"),
    CheckConstraint("decision IN ('save_as_proposed', 'connect_existing', 'dismiss')", name="decision"),
    CheckConstraint("(decision = 'connect_existing') = (claim_id IS NOT NULL)", name="claim"),
    CheckConstraint("decision <> 'dismiss' OR cardinality(attached) = 0", name="attached"),
    PrimaryKeyConstraint("run", "candidate_sha256"),
)

TRUTH_ATTACHMENTS = Table(
    "truth_attachments",
    METADATA,
    Column("run", Text, nullable=False),
    Column("candidate_sha256", Text, nullable=False),
    Column("evidence", Integer, CheckConstraint("evidence >= 0", name="evidence"), nullable=False),
    Column("operation_id", Uuid(as_uuid=False), ForeignKey("receipts.operation_id")),
    Column("body", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    CheckConstraint(f"sha256 {_HEX}", name="sha256"),
    PrimaryKeyConstraint("run", "candidate_sha256", "evidence"),
    ForeignKeyConstraint(
        ["run", "candidate_sha256"],
        ["truth_decisions.run", "truth_decisions.candidate_sha256"],
        name="fk_truth_attachments_run_truth_decisions",
    ),
)
