"""The ledger: projects, operations, receipts, slots, pacing, counters, audit, with the functions that move them."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parent.parent / "functions" / revision
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
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in ORDER:
        connection.exec_driver_sql((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
