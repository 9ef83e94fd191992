"""Runs at the desk: prepared, launched, looked at, ended; worked on by their session."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from broker.ledger.operations import find_ended
from broker.ledger.truth_folders import import_folder, open_folder
from broker.ledger.truth_records import read_record
from broker.ledger.truth_runs import complete_run, end_run, move_run, prepare_run, read_moves, read_output, read_run
from schemas.errors import ContextChanged, ContextTooLarge, OutputConflict, PassageTooLarge, RunNotFound
from schemas.folder import Folder
from schemas.operation import Request, Stored
from schemas.tool import Tool
from schemas.truth import EXECUTION_SECONDS, Move, Output, Run, RunState, own_id, session_of
from schemas.truth_context import context_of, existing_truth, seal
from schemas.truth_record import Coverage, Record, coverage_of
from workers.desk import Desk
from workers.truth.gate import open_run, owned_run, require_alive, require_running
from workers.truth.submission import account, ground_of, normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run as it stands: how it came there, what its receipts cover, and its output where there is one."""

    run: Run
    moves: tuple[Move, ...]
    coverage: tuple[Coverage, ...]
    output: Output | None


def record_folder(desk: Desk, name: str, folder: Folder) -> int:
    """The number of the snapshot that holds the folder. Raises: InvalidArguments."""
    return import_folder(desk.ledger, desk.context.project, name, folder)


def prepare(desk: Desk, name: str, given: Folder | None, frozen: dict[str, Any]) -> Run:
    """The prepared run. The same call again gives the same run.

    Shape: `frozen` are the run's passage, document and selector.
    Raises: PassageTooLarge, ContextTooLarge, CallConflict.
    """
    project = desk.context.project
    run_id = own_id(project, "run", desk.call)
    if (known := read_run(desk.ledger, run_id)) is not None:
        return prepare_run(desk.ledger, replace(known, arguments_digest=desk.arguments_digest), desk.call)
    store = open_folder(desk.ledger, project, name)
    snapshot = store.newest() if given is None else None
    folder = store.read(snapshot) if snapshot is not None else given or Folder()
    now = datetime.now(UTC)
    draft = Run(
        id=run_id,
        project=project,
        session=session_of(run_id),
        arguments_digest=desk.arguments_digest,
        folder=name,
        snapshot=snapshot or 0,
        context_sha256="",
        state=RunState.PREPARED,
        code=None,
        created_at=now,
        deadline_at=now + timedelta(seconds=EXECUTION_SECONDS),
        ended_at=None,
        **frozen,
    )
    sealed = seal(draft, folder)  # before anything is written: what does not fit leaves nothing
    if given is not None:
        sealed = replace(sealed, snapshot=record_folder(desk, name, given))
    return prepare_run(desk.ledger, sealed, desk.call)


def launch(desk: Desk, run_id: str) -> Run:
    """The running run. A launch that was cut short is taken up again. Raises: as `require_alive`, ContextChanged."""
    run = require_alive(owned_run(desk.ledger, run_id, desk.context))
    if run.state is RunState.PREPARED:
        move_run(desk.ledger, run.id, RunState.PREPARED, RunState.LAUNCHING)
    try:
        context_of(run, _folder(desk, run), Record())
    except (ContextChanged, ContextTooLarge, PassageTooLarge) as error:
        end_run(desk.ledger, run.id, RunState.FAILED, error.code)
        raise
    if run.state is not RunState.RUNNING:
        move_run(desk.ledger, run.id, RunState.LAUNCHING, RunState.RUNNING)
    return require_running(_again(desk, run))


def look(desk: Desk, run_id: str) -> Standing:
    """Where a run of the orchestrator's project stands. Raises: RunNotFound, ContextChanged, ReplayChanged."""
    run = owned_run(desk.ledger, run_id, desk.context)
    output = read_output(desk.ledger, run.id)
    if output is not None:
        coverage = tuple(Coverage(**entry) for entry in json.loads(output.body)["source_coverage"])
    else:
        truth = existing_truth(_folder(desk, run))
        truncated = truth["claims_truncated"] or truth["receipts_truncated"]
        coverage = coverage_of(read_record(desk.ledger, run.project, run.id), truncated=truncated)
    return Standing(run=run, moves=read_moves(desk.ledger, run.id), coverage=coverage, output=output)


def end(desk: Desk, run_id: str, state: RunState, code: str) -> Run:
    """The run, ended by this or before it."""
    run = owned_run(desk.ledger, run_id, desk.context)
    end_run(desk.ledger, run.id, state, code)
    return _again(desk, run)


def read_job(desk: Desk, run_id: str) -> dict[str, Any]:
    """The context of the session's run. Raises: SessionForbidden, as `require_alive`, ContextChanged."""
    run = require_alive(open_run(desk.ledger, run_id, desk.context))
    return context_of(run, _folder(desk, run), read_record(desk.ledger, run.project, run.id))


def submit(desk: Desk, tool: Tool, run_id: str, given: dict[str, Any]) -> tuple[Output, Stored | None, bool]:
    """The output that completed the run, its receipt, and whether it was there before.

    Raises: SessionForbidden, InvalidOutput, OutputConflict, as `require_running`.
    """
    run = open_run(desk.ledger, run_id, desk.context)
    kept = read_output(desk.ledger, run.id)
    if kept is None:
        require_running(run)
    record = read_record(desk.ledger, run.project, run.id)
    output = normalise(given, ground_of(run, _folder(desk, run), record))
    request = _submission(desk, tool, run)
    done = kept is None and complete_run(desk.ledger, run.id, output, request, account(request, run, output))
    kept = output if done else kept or read_output(desk.ledger, run.id)
    if kept is None:
        require_running(_again(desk, run))
        raise OutputConflict("The run was not completed by this output.")
    if kept.submission_sha256 != output.submission_sha256:
        raise OutputConflict("The run is completed with another output.", run=run.id)
    return kept, find_ended(desk.ledger, run.project, request.key), not done


def _submission(desk: Desk, tool: Tool, run: Run) -> Request:
    return Request(
        tool=tool,
        context=desk.context.model_copy(update={"run": run.id}),
        key=f"{run.id}/submit",
        arguments_digest=desk.arguments_digest,
        owner=desk.task_id,
        task_id=desk.task_id,
    )


def _folder(desk: Desk, run: Run) -> Folder:
    return open_folder(desk.ledger, run.project, run.folder).read(run.snapshot)


def _again(desk: Desk, run: Run) -> Run:
    found = read_run(desk.ledger, run.id)
    if found is None:
        raise RunNotFound("There is no such run.")
    return found
