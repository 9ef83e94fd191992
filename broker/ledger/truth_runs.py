"""Truth-analysis runs as they are stored: prepared once, moved forward by guarded statements, ended once.

Whoever reads an overdue run ends it first (M12); so does the finalization task. A transition is one statement, guarded
by the row's own state and judged by RETURNING; its trigger writes it down in `truth_moves`.
"""

import json
from typing import Any

from sqlalchemy import Engine, RowMapping, select, text

from broker.ledger.statements import read, write
from broker.ledger.truth_tables import TRUTH_MOVES, TRUTH_OUTPUTS
from schemas.errors import CallConflict, ContextChanged
from schemas.operation import Ending, Request
from schemas.receipt import canonical
from schemas.truth import EXECUTION_SECONDS, Move, Output, Run, RunState

OVERDUE_CODE = "execution_deadline_exceeded"

PREPARE = text("""
INSERT INTO truth_runs (id, project, call, arguments_digest, session, folder, snapshot, document, passage, selector,
    context_sha256, state, created_at, deadline_at)
  SELECT :id, :project, :call, :arguments_digest, :session, :folder, :snapshot, :document, :passage, :selector,
    :context_sha256, 'prepared', at, at + make_interval(secs => :seconds) FROM clock_timestamp() AS at
  ON CONFLICT DO NOTHING RETURNING id
""")
LOOK = text("""
SELECT *, ended_at IS NULL AND deadline_at <= clock_timestamp() AS overdue FROM truth_runs WHERE id = :id
""")
END_OVERDUE = text("""
UPDATE truth_runs SET state = 'failed', code = :code, ended_at = clock_timestamp()
  WHERE id = :id AND ended_at IS NULL AND deadline_at <= clock_timestamp() RETURNING id
""")
# SKIP LOCKED: two finalizers share the work, and a submission under way is left alone.
END_ALL_OVERDUE = text("""
WITH late AS MATERIALIZED (
  SELECT id FROM truth_runs WHERE ended_at IS NULL AND deadline_at <= (SELECT clock_timestamp())
    ORDER BY deadline_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE truth_runs r SET state = 'failed', code = :code, ended_at = clock_timestamp()
  FROM late WHERE r.id = late.id AND r.ended_at IS NULL RETURNING r.id
""")
MOVE = text("""
UPDATE truth_runs SET state = :to WHERE id = :id AND state = :from AND deadline_at > clock_timestamp() RETURNING id
""")
END = text("""
UPDATE truth_runs SET state = :state, code = :code, ended_at = clock_timestamp()
  WHERE id = :id AND ended_at IS NULL RETURNING id
""")
COMPLETE = text("""
SELECT ledger_truth_complete(:run, :body, :sha256, :submission_sha256, CAST(:operation AS uuid), :key, :tool, :agent,
  :step, :arguments_digest, :task_id, :receipt, :digest) AS done
""")


def prepare_run(engine: Engine, run: Run, call: str) -> Run:
    """The run as it is stored; the one of before, where this call prepared it already. Raises: CallConflict."""
    values = {
        "id": run.id,
        "project": run.project,
        "call": call,
        "arguments_digest": run.arguments_digest,
        "session": run.session,
        "folder": run.folder,
        "snapshot": run.snapshot,
        "document": canonical(run.document),
        "passage": run.passage,
        "selector": canonical(run.selector),
        "context_sha256": run.context_sha256,
        "seconds": EXECUTION_SECONDS,
    }
    write(engine, PREPARE, values)
    stored = read_run(engine, run.id)
    if stored is None or stored.arguments_digest != run.arguments_digest:
        raise CallConflict("The call id was used before with other arguments.")
    return stored


def read_run(engine: Engine, run_id: str) -> Run | None:
    """The run; one that is overdue is ended by being looked at. Raises: LedgerUnavailable."""
    rows = read(engine, LOOK, {"id": run_id})
    if rows and rows[0]["overdue"]:
        write(engine, END_OVERDUE, {"id": run_id, "code": OVERDUE_CODE})
        rows = read(engine, LOOK, {"id": run_id})
    return _run(rows[0]) if rows else None


def read_moves(engine: Engine, run_id: str) -> tuple[Move, ...]:
    """Each state that the run came to, in order."""
    table = TRUTH_MOVES.c
    rows = read(engine, select(table.state, table.code, table.at).where(table.run == run_id).order_by(table.at))
    return tuple(Move(state=RunState(row["state"]), code=row["code"], at=row["at"]) for row in rows)


def move_run(engine: Engine, run_id: str, came_from: RunState, to: RunState) -> bool:
    """Whether this call moved the run between two of its living states."""
    return bool(write(engine, MOVE, {"id": run_id, "from": came_from.value, "to": to.value}))


def end_run(engine: Engine, run_id: str, state: RunState, code: str) -> bool:
    """Whether this call ended the run without an output. Shape: `state` is failed or unavailable."""
    return bool(write(engine, END, {"id": run_id, "state": state.value, "code": code}))


def end_overdue(engine: Engine, limit: int = 500) -> int:
    """How many overdue runs were ended."""
    return len(write(engine, END_ALL_OVERDUE, {"limit": limit, "code": OVERDUE_CODE}))


def complete_run(engine: Engine, run_id: str, output: Output, submission: Request, ending: Ending) -> bool:
    """Whether this output completed the run, which it does once, with its receipt in the run's chain.

    Shape: `ending.body` names the operation that it is the receipt of.
    """
    values = {
        "run": run_id,
        "body": output.body,
        "sha256": output.sha256,
        "submission_sha256": output.submission_sha256,
        "operation": json.loads(ending.body)["operation"],
        "key": submission.key,
        "tool": submission.tool.name,
        "agent": submission.context.agent,
        "step": submission.context.step,
        "arguments_digest": submission.arguments_digest,
        "task_id": submission.task_id,
        "receipt": ending.body,
        "digest": ending.digest,
    }
    return bool(write(engine, COMPLETE, values)[0]["done"])


def read_output(engine: Engine, run_id: str) -> Output | None:
    """The run's output; None before it is completed."""
    table = TRUTH_OUTPUTS.c
    rows = read(engine, select(table.body, table.sha256, table.submission_sha256).where(table.run == run_id))
    return Output(**rows[0]) if rows else None


def _run(row: RowMapping) -> Run:
    fields: dict[str, Any] = {name: row[name] for name in Run.__dataclass_fields__}
    try:
        fields |= {name: json.loads(row[name]) for name in ("document", "selector")}
    except ValueError:
        raise ContextChanged("The run's context is not the one that was prepared.", run=row["id"]) from None
    return Run(**{**fields, "state": RunState(row["state"])})
