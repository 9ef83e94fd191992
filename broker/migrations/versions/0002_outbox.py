"""The outbox: calls that are accepted before they are admitted, their sealed requests, and what moves them."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parent.parent / "functions" / revision
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
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in ORDER:
        connection.exec_driver_sql((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
