"""What a run's model may spend: reserved before each request under the lock of the run's row, settled after it.

A reservation is never given back by a crash: what was not settled counts in full. A session is claimed by one delivery
of its message, once; another one spends nothing. Whoever holds it says so by a lease, and the finalization task ends
the run of a session that nobody holds any more.
"""

from uuid import uuid4

from sqlalchemy import Engine, text

from broker.ledger.statements import write
from broker.ledger.truth_runs import OVERDUE_CODE, read_run
from schemas.errors import CostCeilingReached, ExecutionDeadlineExceeded, RunNotFound, RunTerminal
from schemas.truth import ENDED, MODEL_CEILING_NANOUSD, WORKER_EXITED

START_SECONDS = 300  # how long a session may wait for a model worker: others may be at work, thirty minutes each
LEASE_SECONDS = 60
NEVER_BEGUN_CODE = "worker_unavailable"

OPEN = text("""
INSERT INTO model_sessions (run, ceiling_nanousd, committed_nanousd, lease_until)
  VALUES (:run, :ceiling, 0, clock_timestamp() + make_interval(secs => :seconds)) ON CONFLICT DO NOTHING
  RETURNING run
""")
CLAIM = text("""
UPDATE model_sessions s SET owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :seconds)
  WHERE s.run = :run AND s.owner IS NULL AND s.ended_at IS NULL RETURNING s.run
""")
HOLD = text("""
UPDATE model_sessions SET lease_until = clock_timestamp() + make_interval(secs => :seconds)
  WHERE run = :run AND owner = :owner AND ended_at IS NULL RETURNING run
""")
CLOSE = text("""
UPDATE model_sessions SET ended_at = clock_timestamp() WHERE run = :run AND ended_at IS NULL RETURNING run
""")
# The first update is the lock: two reservations of one run come one after the other, and the later one sees the sum.
RESERVE = text("""
WITH room AS (
  UPDATE model_sessions s SET committed_nanousd = s.committed_nanousd + :worst
    WHERE s.run = :run AND s.owner = :owner AND s.ended_at IS NULL AND s.committed_nanousd + :worst <= s.ceiling_nanousd
      AND EXISTS (SELECT FROM truth_runs r
        WHERE r.id = s.run AND r.state = 'running' AND r.deadline_at > clock_timestamp())
    RETURNING s.run
)
INSERT INTO model_requests (id, run, route, reserved_nanousd, reserved_at)
  SELECT CAST(:id AS uuid), run, :route, :worst, clock_timestamp() FROM room RETURNING id
""")
SETTLE = text("""
WITH done AS (
  UPDATE model_requests SET settled_nanousd = least(:cost, reserved_nanousd), settled_at = clock_timestamp()
    WHERE id = CAST(:id AS uuid) AND settled_at IS NULL RETURNING run, reserved_nanousd - settled_nanousd AS freed
)
UPDATE model_sessions s SET committed_nanousd = s.committed_nanousd - done.freed FROM done WHERE s.run = done.run
  RETURNING s.run
""")
# A session whose run has ended otherwise is closed as well, so that nobody looks at it again.
END_DESERTED = text("""
WITH late AS MATERIALIZED (
  SELECT run, owner IS NULL AS unbegun FROM model_sessions
    WHERE ended_at IS NULL AND lease_until <= (SELECT clock_timestamp())
    ORDER BY lease_until LIMIT :limit FOR UPDATE SKIP LOCKED
), closed AS (
  UPDATE model_sessions s SET ended_at = clock_timestamp() FROM late WHERE s.run = late.run
)
UPDATE truth_runs r SET state = CASE WHEN late.unbegun THEN 'unavailable' ELSE 'failed' END,
    code = CASE WHEN late.unbegun THEN :unbegun ELSE :deserted END, ended_at = clock_timestamp()
  FROM late WHERE r.id = late.run AND r.ended_at IS NULL RETURNING r.id
""")


def open_session(engine: Engine, run_id: str) -> None:
    """Let the run's model spend up to the ceiling; a session that is there stays as it is."""
    write(engine, OPEN, {"run": run_id, "ceiling": MODEL_CEILING_NANOUSD, "seconds": START_SECONDS})


def claim_session(engine: Engine, run_id: str, owner: str) -> bool:
    """Whether the session is this delivery's, which it becomes once."""
    return bool(write(engine, CLAIM, {"run": run_id, "owner": owner, "seconds": LEASE_SECONDS}))


def hold_session(engine: Engine, run_id: str, owner: str) -> bool:
    """Whether the session is still this delivery's, for another lease."""
    return bool(write(engine, HOLD, {"run": run_id, "owner": owner, "seconds": LEASE_SECONDS}))


def close_session(engine: Engine, run_id: str) -> None:
    """Spend nothing more."""
    write(engine, CLOSE, {"run": run_id})


def reserve_request(engine: Engine, run_id: str, owner: str, route: str, worst_nanousd: int) -> str:
    """The id of a request that may be sent.

    Raises: CostCeilingReached, RunTerminal, ExecutionDeadlineExceeded, LedgerUnavailable.
    """
    request_id = str(uuid4())
    values = {"id": request_id, "run": run_id, "owner": owner, "route": route, "worst": worst_nanousd}
    if write(engine, RESERVE, values):
        return request_id
    run = read_run(engine, run_id)
    if run is None:
        raise RunNotFound("There is no such run.")
    if run.code == OVERDUE_CODE:
        raise ExecutionDeadlineExceeded("The run's thirty minutes are over.", run=run_id)
    if run.state in ENDED:
        raise RunTerminal("The run has ended.", run=run_id, state=run.state.value)
    raise CostCeilingReached("The request's worst case does not fit under the ceiling.", worst_nanousd=worst_nanousd)


def settle_request(engine: Engine, request_id: str, cost_nanousd: int) -> None:
    """Count what the request cost, and its reservation at most."""
    write(engine, SETTLE, {"id": request_id, "cost": cost_nanousd})


def end_deserted(engine: Engine, limit: int = 500) -> int:
    """How many runs were ended because no model worker holds them."""
    values = {"limit": limit, "unbegun": NEVER_BEGUN_CODE, "deserted": WORKER_EXITED}
    return len(write(engine, END_DESERTED, values))
