"""truth_status: where a run stands and what it submitted."""

import json

from schemas.tools.truth_status import TOOL, Args, MoveOut, Result
from schemas.truth import PUBLIC_STATUS, instant
from workers.desk import Desk, Said, answers
from workers.truth.runs import look


@answers(TOOL)
def truth_status(args: Args, desk: Desk) -> Said:
    """Look at the run; an overdue one is ended by it. Raises: RunNotFound."""
    found = look(desk, args.run_id)
    run, output = found.run, found.output
    return Said(
        Result(
            run_id=run.id,
            session=run.session,
            status=PUBLIC_STATUS[run.state],
            state=run.state.value,
            code=run.code,
            created_at=instant(run.created_at),
            deadline_at=instant(run.deadline_at),
            ended_at=None if run.ended_at is None else instant(run.ended_at),
            moves=tuple(MoveOut(state=one.state.value, code=one.code, at=instant(one.at)) for one in found.moves),
            source_coverage=found.coverage,
            output_sha256=None if output is None else output.sha256,
            output=None if output is None else json.loads(output.body),
        )
    )
