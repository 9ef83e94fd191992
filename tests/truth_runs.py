"""Truth-analysis runs straight in a ledger, for tests that need one in some state."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from sqlalchemy import Engine, text

from broker.ledger.truth_runs import end_run, move_run, prepare_run
from schemas.folder import Folder
from schemas.operation import Request
from schemas.profiles import TRUTH_FETCH
from schemas.tools.cowork_truth_analysis_fetch import TOOL
from schemas.truth import Run, RunState, own_id, session_of
from schemas.truth_context import seal
from tests.ledger_calls import request

PASSAGE = "The moon is made of basalt. Some say cheese, and cheese it is not."
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_numbers = count()


def draft(passage: str = PASSAGE, folder: Folder | None = None, **fields: Any) -> Run:
    """A run that is not stored yet, with the digest of its context."""
    run_id = own_id("test", str(next(_numbers)))
    run = Run(
        id=run_id,
        project="p",
        session=session_of(run_id),
        arguments_digest="a" * 64,
        folder="f",
        snapshot=0,
        document={"id": "doc", "title": "", "sha256": None},
        passage=passage,
        selector={"prefix": "", "suffix": "", "start": 0, "end": len(passage)},
        context_sha256="",
        state=RunState.PREPARED,
        code=None,
        created_at=NOW,
        deadline_at=NOW,
        ended_at=None,
    )
    return seal(replace(run, **fields), folder or Folder())


def stored(engine: Engine, state: str = "running", **fields: Any) -> Run:
    """A stored run in one of its living states, or failed."""
    run = draft(**fields)
    prepare_run(engine, run, f"call-{run.id}")
    if state in ("launching", "running"):
        assert move_run(engine, run.id, RunState.PREPARED, RunState.LAUNCHING)
    if state == "running":
        assert move_run(engine, run.id, RunState.LAUNCHING, RunState.RUNNING)
    if state == "failed":
        assert end_run(engine, run.id, RunState.FAILED, "cancelled")
    return run


def tamper(engine: Engine, statement: str, **values: Any) -> None:
    """As a superuser without triggers would."""
    with engine.connect() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        connection.execute(text(statement), values)
        connection.execute(text("RESET session_replication_role"))


def age(engine: Engine, run_id: str, seconds: float) -> None:
    """Let so many seconds go by since the run was prepared."""
    tamper(
        engine,
        "UPDATE truth_runs SET created_at = created_at - make_interval(secs => :s), "
        "deadline_at = deadline_at - make_interval(secs => :s) WHERE id = :id",
        id=run_id,
        s=seconds,
    )


def fetch_request(run: Run, hit: str, **other: Any) -> Request:
    """One delivery of the fetch of a hit of the run."""
    tool = replace(TOOL, profile=TRUTH_FETCH)
    one = request(key=f"{run.id}/fetch/{hit}", run=run.id, **other)
    return replace(one, tool=tool)
