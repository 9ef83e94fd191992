"""Truth analysis: folders' snapshots, runs with their moves and outputs; admissions that a run permits."""

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parent.parent / "functions" / revision
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
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in ORDER:
        connection.exec_driver_sql((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
