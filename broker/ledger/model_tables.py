"""The tables of model workers, for reading, beside the ledger's others. Migration 0008 makes them."""

from sqlalchemy import UUID, BigInteger, CheckConstraint, Column, ForeignKey, Index, Table, Text, text

from broker.ledger.metadata import INSTANT, METADATA, REWRITTEN

MODEL_SESSIONS = Table(
    "model_sessions",
    METADATA,
    Column("run", Text, ForeignKey("truth_runs.id"), primary_key=True),
    Column("ceiling_nanousd", BigInteger, nullable=False),
    Column("committed_nanousd", BigInteger, nullable=False),
    Column("owner", Text),
    Column("lease_until", INSTANT, nullable=False),
    Column("ended_at", INSTANT),
    CheckConstraint("committed_nanousd BETWEEN 0 AND ceiling_nanousd", name="ceiling"),
    Index("ix_model_sessions_living", "lease_until", postgresql_where=text("ended_at IS NULL")),
    postgresql_with=REWRITTEN,
)

MODEL_REQUESTS = Table(
    "model_requests",
    METADATA,
    Column("id", UUID(as_uuid=False), primary_key=True),
    Column("run", Text, ForeignKey("model_sessions.run"), nullable=False),
    Column("route", Text, nullable=False),
    Column("reserved_nanousd", BigInteger, nullable=False),
    Column("settled_nanousd", BigInteger),
    Column("reserved_at", INSTANT, nullable=False),
    Column("settled_at", INSTANT),
    CheckConstraint("reserved_nanousd >= 0", name="reserved"),
    CheckConstraint("settled_nanousd BETWEEN 0 AND reserved_nanousd", name="settled"),
    CheckConstraint("(settled_nanousd IS NULL) = (settled_at IS NULL)", name="ending"),
    Index("ix_model_requests_run", "run"),
)
