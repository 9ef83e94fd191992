"""Administration: tokens and visits, tool lists and executions, refused calls; the newest ends of a project."""

from broker.migrations.steps import refuse_downgrade, run_sql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ORDER = ("tables", "ledger_families", "ledger_permit", "ledger_note_refusal")


def upgrade() -> None:
    run_sql(revision, ORDER)


def downgrade() -> None:
    refuse_downgrade()
