"""The ledger's tables, for reading. The migrations make them; a test holds both equal."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from broker.ledger import admin_tables, model_tables, truth_tables  # noqa: F401 - they are the ledger's too, and METADATA knows them by this
from broker.ledger.metadata import INSTANT, METADATA, REWRITTEN

PROJECTS = Table(
    "projects",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("enabled", Boolean, nullable=False),
    Column("fetch_enabled", Boolean, nullable=False),
    Column("agents", ARRAY(Text), nullable=False),
    Column("generation", BigInteger, CheckConstraint("generation >= 1", name="generation"), nullable=False),
    Column("updated_at", INSTANT, nullable=False),
)

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("id", Uuid(as_uuid=False), primary_key=True),
    Column("project", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("arguments_digest", Text, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("owner", Text),
    Column("generation", BigInteger),
    Column("slot", Integer),
    Column("state", Text, nullable=False),
    Column("code", Text),
    Column("sent", Text),
    Column("admitted_at", INSTANT),
    Column("lease_until", INSTANT),
    Column("ended_at", INSTANT),
    Column("accepted_at", INSTANT),
    Column("accept_until", INSTANT),
    Column("post_at", INSTANT),
    UniqueConstraint("project", "key", name="uq_operations_project_key"),
    CheckConstraint("arguments_digest ~ '^[0-9a-f]{64}$'", name="arguments_digest"),
    CheckConstraint(
        "state IN ('accepted', 'refused', 'pending', 'completed', 'failed', 'cancelled', 'outcome_unknown')",
        name="state",
    ),
    CheckConstraint("sent IN ('not_sent', 'sent', 'unknown')", name="sent"),
    CheckConstraint("lease_until > admitted_at", name="lease"),
    CheckConstraint(
        "(state IN ('accepted', 'pending')) = (ended_at IS NULL) "
        "AND (state IN ('accepted', 'pending')) = (sent IS NULL)",
        name="ending",
    ),
    CheckConstraint(
        "CASE WHEN state IN ('accepted', 'pending', 'completed') THEN code IS NULL ELSE code IS NOT NULL END",
        name="code",
    ),
    CheckConstraint(
        "num_nulls(accepted_at, accept_until, post_at) IN (0, 3) AND accept_until > accepted_at", name="acceptance"
    ),
    CheckConstraint("num_nulls(owner, generation, slot, admitted_at, lease_until) IN (0, 5)", name="admission"),
    CheckConstraint(
        "CASE WHEN admitted_at IS NULL THEN accepted_at IS NOT NULL AND state IN ('accepted', 'refused', 'cancelled') "
        "AND coalesce(sent, 'not_sent') = 'not_sent' ELSE state NOT IN ('accepted', 'refused') END",
        name="unadmitted",
    ),
    Index("ix_operations_pending", "lease_until", postgresql_where=text("state = 'pending'")),
    Index("ix_operations_admitted_at", "admitted_at", postgresql_using="brin"),
    Index("ix_operations_accepted", "post_at", postgresql_where=text("state = 'accepted'")),
    Index("ix_operations_accepted_at", "accepted_at", postgresql_using="brin"),
    Index("ix_operations_run", "project", "run", postgresql_where=text("ended_at IS NOT NULL")),
    Index("ix_operations_ended", "project", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    postgresql_with={"autovacuum_vacuum_scale_factor": 0.02, "autovacuum_analyze_scale_factor": 0.02},
)

REQUESTS = Table(
    "requests",
    METADATA,
    Column("operation_id", Uuid(as_uuid=False), ForeignKey("operations.id"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    CheckConstraint("octet_length(sealed) BETWEEN 31 AND 1048576", name="sealed"),
    postgresql_with={"autovacuum_vacuum_scale_factor": 0.02},
)

RECEIPTS = Table(
    "receipts",
    METADATA,
    Column("operation_id", Uuid(as_uuid=False), ForeignKey("operations.id"), primary_key=True),
    Column("body", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("written_at", INSTANT, nullable=False),
    Column("position", Integer, CheckConstraint("position >= 1", name="position"), nullable=False),
    Column("link", Text, nullable=False),
    CheckConstraint("digest ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$'", name="digest"),
    CheckConstraint("link ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$'", name="link"),
    Index("ix_receipts_written_at", "written_at", "operation_id"),
)

CHAINS = Table(
    "chains",
    METADATA,
    Column("project", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("length", Integer, CheckConstraint("length >= 1", name="length"), nullable=False),
    Column("head", Text, nullable=False),
    CheckConstraint("head ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$'", name="head"),
    PrimaryKeyConstraint("project", "run"),
    postgresql_with=REWRITTEN,
)

SLOTS = Table(
    "slots",
    METADATA,
    Column("project", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("n", Integer, CheckConstraint("n >= 1", name="n"), nullable=False),
    Column("operation_id", Uuid(as_uuid=False)),
    Column("until", INSTANT, nullable=False),
    PrimaryKeyConstraint("project", "family", "n"),
    postgresql_with=REWRITTEN,
)

PACING = Table(
    "pacing",
    METADATA,
    Column("project", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("next_at", INSTANT, nullable=False),
    PrimaryKeyConstraint("project", "family"),
    postgresql_with=REWRITTEN,
)

COUNTERS = Table(
    "counters",
    METADATA,
    Column("project", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("scope", Text, CheckConstraint("scope IN ('run', 'step')", name="scope"), nullable=False),
    Column("name", Text, nullable=False),
    Column("used", Integer, CheckConstraint("used >= 1", name="used"), nullable=False),
    PrimaryKeyConstraint("project", "family", "scope", "name"),
    postgresql_with=REWRITTEN,
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("at", INSTANT, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("facts", JSONB, nullable=False),
    Index("ix_audit_project", "project", "id"),
)

TALLY_MARK = Table(
    "tally_mark",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1", name="id"), autoincrement=False, nullable=False),
    Column("written_at", INSTANT, nullable=False),
    Column("operation_id", Uuid(as_uuid=False), nullable=False),
    PrimaryKeyConstraint("id"),
    postgresql_with=REWRITTEN,
)

TALLY_ENDS = Table(
    "tally_ends",
    METADATA,
    Column("tool", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("count", BigInteger, CheckConstraint("count >= 1", name="count"), nullable=False),
    PrimaryKeyConstraint("tool", "state", "code"),
    postgresql_with=REWRITTEN,
)

TALLY_TIMES = Table(
    "tally_times",
    METADATA,
    Column("tool", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("at_most", Double, nullable=False),
    Column("count", BigInteger, CheckConstraint("count >= 1", name="count"), nullable=False),
    Column("seconds", Double, CheckConstraint("seconds >= 0", name="seconds"), nullable=False),
    PrimaryKeyConstraint("tool", "phase", "at_most"),
    postgresql_with=REWRITTEN,
)

DENIALS = Table(
    "denials",
    METADATA,
    Column("project", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("count", BigInteger, CheckConstraint("count >= 1", name="count"), nullable=False),
    PrimaryKeyConstraint("project", "family", "code"),
    postgresql_with=REWRITTEN,
)
