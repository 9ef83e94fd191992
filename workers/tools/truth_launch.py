"""truth_launch: let a prepared run be worked on."""

from schemas.tools.truth_launch import TOOL, Args, Result
from schemas.truth import PUBLIC_STATUS, instant
from workers.desk import Desk, Said, answers
from workers.handover import launch_with_model


@answers(TOOL)
def truth_launch(args: Args, desk: Desk) -> Said:
    """Launch the run. Raises: RunNotFound, RunTerminal, ContextChanged, CostControlUnavailable, as `require_alive`."""
    run = launch_with_model(desk, args.run_id)
    return Said(
        Result(
            run_id=run.id,
            session=run.session,
            status=PUBLIC_STATUS[run.state],
            state=run.state.value,
            deadline_at=instant(run.deadline_at),
        )
    )
