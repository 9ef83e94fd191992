"""truth_cancel: end a run without an output."""

from schemas.tools.truth_cancel import TOOL, Args, Result
from schemas.truth import PUBLIC_STATUS, RunState
from workers.desk import Desk, Said, answers
from workers.truth.runs import end


@answers(TOOL)
def truth_cancel(args: Args, desk: Desk) -> Said:
    """End the run. Raises: RunNotFound."""
    state = RunState.UNAVAILABLE if args.reason == "worker_unavailable" else RunState.FAILED
    run = end(desk, args.run_id, state, args.reason)
    return Said(Result(run_id=run.id, status=PUBLIC_STATUS[run.state], state=run.state.value, code=run.code))
