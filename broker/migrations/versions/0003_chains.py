"""The chains: every receipt gets its place among those of its run, those before this one too."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ORDER = (
    "tables",
    "ledger_genesis",
    "ledger_follow",
    "ledger_link",
    "backfill",
    "triggers",
    "ledger_finalize_stale",
    "ledger_expire_accepted",
    "ledger_settle",
)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
