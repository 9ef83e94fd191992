"""The ledger: projects, operations, receipts, slots, pacing, counters, audit, with the functions that move them."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ORDER = (
    "tables",
    "admission",
    "ledger_refuse_change",
    "triggers",
    "ledger_instant",
    "ledger_unknown_receipt",
    "ledger_finalize",
    "ledger_finalize_stale",
    "ledger_repeat",
    "ledger_find",
    "ledger_permit",
    "ledger_refuse_full",
    "ledger_take_slot",
    "ledger_pace",
    "ledger_count",
    "ledger_admit",
    "ledger_settle",
)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
