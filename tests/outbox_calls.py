"""Accepted calls, for tests that need a ledger with some."""

from uuid import uuid4

from broker.ledger.outbox import accept
from schemas.operation import Accepted
from tests.ledger_calls import request, run_sql

SEALED = b"\x01" + bytes(40)


def accepted(engine, one=None, sealed=SEALED):
    """A call that the ledger has accepted: its id, and a delivery of it."""
    one, operation_id = one or request(), str(uuid4())
    assert isinstance(accept(engine, operation_id, one, sealed), Accepted)
    return operation_id, one


def make_late(engine, operation_id, *, minutes=11):
    """Let the call have been accepted that long ago."""
    run_sql(
        engine,
        "UPDATE operations SET accepted_at = accepted_at - make_interval(mins => :m), "
        "accept_until = accept_until - make_interval(mins => :m), post_at = post_at - make_interval(mins => :m) "
        "WHERE id = :id",
        id=operation_id,
        m=minutes,
    )


def state_of(engine, operation_id):
    [[state]] = run_sql(engine, "SELECT state FROM operations WHERE id = :id", id=operation_id)
    return state


def kept_requests(engine):
    return [row[0] for row in run_sql(engine, "SELECT operation_id::text FROM requests")]
