"""The review desk: decisions of people on candidates, the exact passages they selected, and who may decide."""

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FOLDER = Path(__file__).parent.parent / "functions" / revision
ORDER = ("tables", "triggers")


def upgrade() -> None:
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in ORDER:
        connection.exec_driver_sql((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
