"""Model workers: what a run may spend on its model, and each request that did."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ORDER = ("tables",)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
