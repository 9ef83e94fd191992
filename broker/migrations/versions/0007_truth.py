"""Truth analysis: folders' snapshots, runs with their moves and outputs; admissions that a run permits."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ORDER = (
    "tables",
    "ledger_truth_note",
    "triggers",
    "ledger_truth_permit",
    "ledger_truth_import",
    "ledger_truth_complete",
    "ledger_reserve",
    "ledger_settle",
)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
