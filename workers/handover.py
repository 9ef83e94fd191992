"""Handover: a launched run is given to the deployment's model, where the models file names one."""

from broker.app import app
from broker.ledger.model_spending import open_session
from broker.ledger.truth_runs import end_run
from broker.outbox import AWAY
from broker.settings import settings
from schemas.errors import CostControlUnavailable, StackUnavailable
from schemas.truth import Run, RunState
from workers.desk import Desk
from workers.models.route import Route, truth_route
from workers.truth.gate import owned_run, require_alive
from workers.truth.runs import launch

TASK = "analyse_run"


def launch_with_model(desk: Desk, run_id: str) -> Run:
    """The running run, handed over where there is a model. The same launch again hands it over again, and once counts.

    Raises: as `launch`; CostControlUnavailable, which ends a run that does not run yet; StackUnavailable.
    """
    run = require_alive(owned_run(desk.ledger, run_id, desk.context))
    try:
        route = configured_route()
    except CostControlUnavailable as error:
        if run.state is not RunState.RUNNING:  # else a model may be at work: a file that broke since does not end it
            end_run(desk.ledger, run.id, RunState.UNAVAILABLE, error.code)
        raise
    run = launch(desk, run_id)
    if route is not None:
        open_session(desk.ledger, run.id)
        try:
            app.send_task(TASK, kwargs={"run": run.id}, ignore_result=True)
        except AWAY:
            raise StackUnavailable("The message broker is away; launch the run again.", run=run.id) from None
    return run


def configured_route() -> tuple[str, Route] | None:
    """The name and the route of the deployment's model for runs; None without one. Raises: CostControlUnavailable."""
    path = settings().models_file
    if path is None:
        return None
    try:
        return truth_route(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise CostControlUnavailable("The models file cannot be read.") from None
