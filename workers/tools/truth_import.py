"""truth_import: record what a folder holds."""

from schemas.tools.truth_import import TOOL, Args, Result
from workers.desk import Desk, Said, answers
from workers.truth.runs import record_folder


@answers(TOOL)
def truth_import(args: Args, desk: Desk) -> Said:
    """Record the folder as a snapshot. Raises: InvalidArguments."""
    snapshot = record_folder(desk, args.folder, args.whole())
    return Said(Result(folder=args.folder, snapshot=snapshot, claims=len(args.claims), receipts=len(args.receipts)))
