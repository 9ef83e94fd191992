"""Folder Truth in PostgreSQL: a snapshot an import, each for ever as it was."""

from hashlib import sha256

from sqlalchemy import Engine, select, text

from broker.ledger.statements import read, write
from broker.ledger.truth_tables import TRUTH_FOLDERS
from schemas.errors import ContextChanged, InvalidArguments
from schemas.folder import FOLDER_BYTES, Folder, FolderTruth
from schemas.receipt import canonical

IMPORT = text("SELECT ledger_truth_import(:project, :folder, :body, :sha256) AS snapshot")
NEWEST = text(
    "SELECT coalesce(max(snapshot), 0) AS snapshot FROM truth_folders WHERE project = :project AND folder = :folder"
)


def open_folder(engine: Engine, project: str, name: str) -> FolderTruth:
    """The folder's store. Its functions raise: LedgerUnavailable; ContextChanged for a snapshot that was altered."""

    def newest() -> int:
        return int(read(engine, NEWEST, {"project": project, "folder": name})[0]["snapshot"])

    def snapshot(number: int) -> Folder:
        return _read(engine, project, name, number) if number else Folder()

    return FolderTruth(newest=newest, read=snapshot)


def import_folder(engine: Engine, project: str, name: str, folder: Folder) -> int:
    """The number of the snapshot that holds this folder. The same again makes none. Raises: InvalidArguments."""
    body = canonical(folder.model_dump(mode="json"))
    if (size := len(body.encode())) > FOLDER_BYTES:
        raise InvalidArguments("The folder is too large.", field="claims", limit_bytes=FOLDER_BYTES, bytes=size)
    values = {"project": project, "folder": name, "body": body, "sha256": sha256(body.encode()).hexdigest()}
    return int(write(engine, IMPORT, values)[0]["snapshot"])


def _read(engine: Engine, project: str, name: str, number: int) -> Folder:
    table = TRUTH_FOLDERS.c
    query = select(table.body, table.sha256).where(
        table.project == project, table.folder == name, table.snapshot == number
    )
    rows = read(engine, query)
    if not rows or sha256(rows[0]["body"].encode()).hexdigest() != rows[0]["sha256"]:
        raise ContextChanged("The folder's snapshot is not the one that was recorded.", snapshot=number)
    return Folder.model_validate_json(rows[0]["body"])
