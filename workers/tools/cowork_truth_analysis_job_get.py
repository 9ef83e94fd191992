"""cowork_truth_analysis_job_get: the context of the session's run."""

from schemas.tools.cowork_truth_analysis_job_get import TOOL, Args, Result
from workers.desk import Desk, Said, answers
from workers.truth.runs import read_job


@answers(TOOL)
def cowork_truth_analysis_job_get(args: Args, desk: Desk) -> Said:
    """Read the run's context. Raises: SessionForbidden, RunTerminal, ExecutionDeadlineExceeded, ContextChanged."""
    return Said(Result.model_validate(read_job(desk, args.run_id)))
