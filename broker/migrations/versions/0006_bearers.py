"""Agents' tokens: whom a bearer at the gateway acts as."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ORDER = ("tables",)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
