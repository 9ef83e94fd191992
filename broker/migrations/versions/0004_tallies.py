"""The tallies: counts for Prometheus that only grow, and the index by which the mark finds what is new."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parent.parent / "functions" / revision
ORDER = ("tables", "ledger_deny", "ledger_seconds", "ledger_phases", "ledger_tally")


def upgrade() -> None:
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in ORDER:
        connection.exec_driver_sql((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
