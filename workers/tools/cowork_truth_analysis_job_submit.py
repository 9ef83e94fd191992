"""cowork_truth_analysis_job_submit: the run's one output."""

from schemas.tools.cowork_truth_analysis_job_submit import TOOL, Args, Result
from workers.desk import Desk, Said, answers
from workers.truth.runs import submit


@answers(TOOL)
def cowork_truth_analysis_job_submit(args: Args, desk: Desk) -> Said:
    """Complete the run with its output. Raises: SessionForbidden, InvalidOutput, OutputConflict, RunTerminal."""
    output, stored, replayed = submit(desk, TOOL, args.run_id, args.output)
    return Said(Result(analysis_run_id=args.run_id, output_sha256=output.sha256), replayed=replayed, stored=stored)
