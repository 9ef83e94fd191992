"""The gate of a run: its session is matched before anything of it is read, and a run that has ended lets nobody in."""

from broker.ledger.engine import Ledger
from broker.ledger.truth_runs import OVERDUE_CODE, read_run
from schemas.context import Context
from schemas.errors import ExecutionDeadlineExceeded, RunNotFound, RunNotLaunched, RunTerminal, SessionForbidden
from schemas.truth import ENDED, Run, RunState, session_of


def open_run(ledger: Ledger, run_id: str, context: Context) -> Run:
    """The run of a worker's session, whatever its state. The run's id routes, and grants nothing (M3).

    The session is judged by its form before the ledger is asked, and against the stored one after; the folder is opened
    by nobody before both (M4). Raises: SessionForbidden, RunNotFound, LedgerUnavailable.
    """
    if context.session != session_of(run_id):
        raise SessionForbidden("The session is not this run's.")
    run = read_run(ledger, run_id)
    if run is None:
        raise RunNotFound("There is no such run.")
    if run.session != context.session or run.project != context.project:
        raise SessionForbidden("The session is not this run's.")
    return run


def owned_run(ledger: Ledger, run_id: str, context: Context) -> Run:
    """The run of an orchestrator's project, whatever its state. Raises: RunNotFound, LedgerUnavailable."""
    run = read_run(ledger, run_id)
    if run is None or run.project != context.project:
        raise RunNotFound("There is no such run in this project.")
    return run


def require_alive(run: Run) -> Run:
    """Let a run pass that has not ended. Raises: ExecutionDeadlineExceeded, RunTerminal."""
    if run.code == OVERDUE_CODE:
        raise ExecutionDeadlineExceeded("The run's thirty minutes are over.", run=run.id)
    if run.state in ENDED:
        raise RunTerminal("The run has ended.", run=run.id, state=run.state.value, code=run.code)
    return run


def require_running(run: Run) -> Run:
    """Let a run pass that was launched and has not ended. Raises: RunNotLaunched, and as `require_alive`."""
    require_alive(run)
    if run.state is not RunState.RUNNING:
        raise RunNotLaunched("The run was not launched.", run=run.id, state=run.state.value)
    return run
