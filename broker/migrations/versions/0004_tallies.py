"""The tallies: counts for Prometheus that only grow, and the index by which the mark finds what is new."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ORDER = ("tables", "ledger_deny", "ledger_seconds", "ledger_phases", "ledger_tally")


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
