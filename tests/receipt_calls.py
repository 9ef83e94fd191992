"""Operations that end with a receipt as a worker writes it, for tests of receipts that verify."""

from datetime import UTC

from broker.ledger.operations import admit, settle
from schemas.operation import Ending, OperationState
from schemas.receipt import canonical, digest_of
from tests.ledger_calls import profile, request

WIDE = profile(step_max=10_000, run_max=10_000, active_max=64)


def told_ending(one, lease, state="completed", code=None):
    """How a worker would end this call: its receipt names what its operation's row does."""
    body = canonical(
        {
            "admitted_at": lease.admitted_at.astimezone(UTC).isoformat(timespec="milliseconds"),
            "agent": one.context.agent,
            "arguments_sha256": one.arguments_digest,
            "call": one.key,
            "document": [],
            "error": None if code is None else {"code": code, "facts": {}, "message": "It was so."},
            "hops": [{"number": 1, "status": 200, "wire_bytes": 1234}],
            "milliseconds": 12.5,
            "operation": lease.operation_id,
            "project": one.context.project,
            "receipt": "outrider/1",
            "run": one.context.run,
            "sent": "sent",
            "state": state,
            "step": one.context.step,
            "tool": one.tool.name,
        }
    )
    return Ending(state=OperationState(state), code=code, sent="sent", body=body, digest=digest_of(body))


def settled(engine, **names):
    """The id of one more operation that has ended."""
    one = request(profile=WIDE, **names)
    lease = admit(engine, one, patience_seconds=60)
    settle(engine, lease, told_ending(one, lease), patience_seconds=60)
    return lease.operation_id
