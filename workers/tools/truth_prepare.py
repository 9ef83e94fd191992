"""truth_prepare: freeze a passage and what its folder holds into a run."""

from schemas.tools.truth_prepare import TOOL, Args, Result
from schemas.truth import PUBLIC_STATUS, instant
from workers.desk import Desk, Said, answers
from workers.truth.runs import prepare


@answers(TOOL)
def truth_prepare(args: Args, desk: Desk) -> Said:
    """Prepare the run of this call. Raises: PassageTooLarge, ContextTooLarge, CallConflict."""
    frozen = {
        "passage": args.passage,
        "document": args.document.model_dump(mode="json"),
        "selector": args.selector.model_dump(mode="json", exclude={"exact"}),
    }
    run = prepare(desk, args.folder, args.given_folder(), frozen)
    return Said(
        Result(
            run_id=run.id,
            session=run.session,
            status=PUBLIC_STATUS[run.state],
            state=run.state.value,
            snapshot=run.snapshot,
            context_sha256=run.context_sha256,
            created_at=instant(run.created_at),
            deadline_at=instant(run.deadline_at),
        )
    )
