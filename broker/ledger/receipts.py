"""Receipts as they were written: the only thing that a reader gets of an operation that has ended."""

from uuid import UUID

from sqlalchemy import Engine, select

from broker.ledger.statements import read
from broker.ledger.tables import OPERATIONS, RECEIPTS
from schemas.operation import OperationState, Stored


def read_receipt(engine: Engine, receipt_id: str) -> Stored | None:
    """The stored end of an operation, by its id, which is the receipt's too; None for an unknown or a pending one."""
    if not is_id(receipt_id):
        return None
    query = (
        select(OPERATIONS.c.state, OPERATIONS.c.code, OPERATIONS.c.sent, RECEIPTS.c.body, RECEIPTS.c.digest)
        .join(RECEIPTS, RECEIPTS.c.operation_id == OPERATIONS.c.id)
        .where(OPERATIONS.c.id == receipt_id)
    )
    rows = read(engine, query)
    if not rows:
        return None
    return Stored(**{**rows[0], "operation_id": str(UUID(receipt_id)), "state": OperationState(rows[0]["state"])})


def is_id(text: str) -> bool:
    """Whether a text can be the id of an operation at all."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
