"""The outbox: calls that are accepted before they are admitted, their sealed requests, and what moves them."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ORDER = (
    "tables",
    "types",
    "ledger_forget_request",
    "triggers",
    "ledger_repeat",
    "ledger_end_accepted",
    "ledger_expire",
    "ledger_expire_accepted",
    "ledger_reserve",
    "ledger_admit",
    "ledger_settle",
    "ledger_accept",
    "ledger_open",
    "ledger_postpone",
    "ledger_claim_posts",
)


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
