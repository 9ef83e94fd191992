"""The step of a revision: its folder of SQL, run in order. A ledger is never unmade."""

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from alembic import op

FOLDER = Path(__file__).parent / "functions"


def run_sql(revision: str, order: Iterable[str]) -> None:
    """Run these files of `functions/REVISION`, named without their ending, within the revision's transaction."""
    # No parameters, so that the driver leaves per cent signs and colons of the SQL alone.
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in order:
        connection.exec_driver_sql((FOLDER / revision / f"{name}.sql").read_text(encoding="utf-8"))


def refuse_downgrade() -> NoReturn:
    """Raises: NotImplementedError."""
    msg = "A ledger is not unmade: restore a backup instead."
    raise NotImplementedError(msg)
