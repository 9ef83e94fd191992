"""The tables of administration, for reading: tokens, visits, tool lists, executions, refused calls."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Integer, PrimaryKeyConstraint, Table, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import ARRAY

from broker.ledger.metadata import INSTANT, METADATA, REWRITTEN

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("permissions", ARRAY(Text), nullable=False),
    Column("project", Text),
    Column("created_at", INSTANT, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", INSTANT, nullable=False),
    Column("revoked_at", INSTANT),
    Column("agent", Text),
    Column("run", Text),
    Column("step", Text),
    Column("session", Text),
    UniqueConstraint("digest", name="uq_tokens_digest"),
    CheckConstraint("digest ~ '^[0-9a-f]{64}$'", name="digest"),
    CheckConstraint(
        "cardinality(permissions) >= 1 AND permissions "
        "<@ ARRAY['project.web-search.manage', 'project.runs.manage', 'project.truth.review', 'fleet.view', "
        "'agent.tools.call']",
        name="permissions",
    ),
    CheckConstraint(
        "('agent.tools.call' = ANY (permissions)) = (agent IS NOT NULL) AND (agent IS NULL OR "
        "project IS NOT NULL AND cardinality(permissions) = 1)",
        name="agent",
    ),
    CheckConstraint(
        "(run IS NULL OR agent IS NOT NULL) AND (step IS NULL OR run IS NOT NULL) "
        "AND (session IS NULL OR run IS NOT NULL)",
        name="claim",
    ),
    CheckConstraint("expires_at > created_at", name="expiry"),
)

VISITS = Table(
    "visits",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("token_id", Text, ForeignKey("tokens.id"), nullable=False),
    Column("begun_at", INSTANT, nullable=False),
    Column("until", INSTANT, nullable=False),
    CheckConstraint("digest ~ '^[0-9a-f]{64}$'", name="digest"),
)

TOOL_LISTS = Table(
    "tool_lists",
    METADATA,
    Column("project", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("families", ARRAY(Text), nullable=False),
    Column("saved_at", INSTANT, nullable=False),
    CheckConstraint("families <@ ARRAY['search', 'fetch']", name="families"),
    PrimaryKeyConstraint("project", "agent"),
)

EXECUTIONS = Table(
    "executions",
    METADATA,
    Column("project", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("families", ARRAY(Text), nullable=False),
    Column("began_at", INSTANT, nullable=False),
    CheckConstraint("families <@ ARRAY['search', 'fetch']", name="families"),
    PrimaryKeyConstraint("project", "run", "step", "agent"),
)

REFUSALS = Table(
    "refusals",
    METADATA,
    Column("project", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("calls", Integer, CheckConstraint("calls >= 1", name="calls"), nullable=False),
    PrimaryKeyConstraint("project", "run", "step", "agent", "family"),
    postgresql_with=REWRITTEN,
)
