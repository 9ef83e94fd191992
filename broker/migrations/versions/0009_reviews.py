"""The review desk: decisions of people on candidates, the exact passages they selected, and who may decide."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ORDER = ("tables", "triggers")


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
