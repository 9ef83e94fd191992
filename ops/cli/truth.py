"""`outrider truth`: what folders hold, for truth-analysis runs to read."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from broker.ledger.truth_folders import import_folder
from ops.cli.keeping import open_ledger, safe
from ops.cli.printing import OURS, give, leave, say
from schemas.errors import InvalidArguments
from schemas.folder import FOLDER_BYTES, Folder

truth = typer.Typer(no_args_is_help=True, help="What folders hold, for truth-analysis runs to read.")


@truth.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help='JSON: {"claims": [...], "receipts": [...]}.')],
    *,
    folder: Annotated[str, typer.Option(metavar="F", help="The folder's id.", callback=safe)],
    project: Annotated[str, typer.Option(metavar="P", help="The folder's project.", callback=safe)] = "local",
) -> None:
    """Record what a folder holds, as a snapshot that the next runs read; runs that are prepared keep theirs.

    Example: outrider truth import moon.json --folder moon --project research
    """
    held = _read(file)
    try:
        with open_ledger() as ledger:
            snapshot = import_folder(ledger, project, folder, held)
    except InvalidArguments as error:
        say(error.message)
        leave(OURS)
    give(f"{folder}: snapshot {snapshot}, {len(held.claims)} claims, {len(held.receipts)} receipts")


def _read(file: Path) -> Folder:
    """The file's folder. Its errors are told by place and kind; what it holds is nobody's terminal's business."""
    try:
        with file.open("rb") as source:
            return Folder.model_validate_json(source.read(4 * FOLDER_BYTES))
    except OSError as error:
        say(f"{file} cannot be read: {error.strerror}")
        leave(OURS)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        say(f"{file} is no folder: {'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}")
        leave(OURS)
