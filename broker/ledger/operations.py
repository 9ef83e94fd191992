"""Operations: a call is admitted once, ended once, and answered from the ledger ever after.

The law is in broker/migrations/functions: `ledger_admit` and `ledger_settle` are one round trip and one commit each.
All times are the database's, taken after the last lock. Reservations are counted for the top-level run (`context.run`,
which children pass on) and for a logical step of it (`context.step`: executed again under a new child run, it finds its
old count, M151), each for its own family of tools (M146); they never come back.
"""

from typing import Any

from sqlalchemy import Engine

from broker.ledger.calls import Row, call
from broker.ledger.denials import BUDGETS, note_denial
from schemas.errors import InvalidArguments, ProjectBusy, SettingsChanged
from schemas.operation import BudgetLeft, Ending, Lease, OperationState, Request, Running, Stored
from schemas.receipt import digest_of

KEY_CHARS = 512  # ours are at most 128; a foreign task's id may be anything, and an index row holds 2,700 bytes

# How long after its lease a ride still tries to settle. First writer wins, so it is safe; a ledger that was away for as
# long as the lease takes the account of a living worker, unless the finalizer, which looks every 5 s, was there first.
LATE_SECONDS = 5.0

COLUMNS = (
    "verdict, operation_id::text, task_id, generation, admitted_at, lease_until, seconds_left, step_used, run_used, "
    "state, code, sent, body, digest"
)
ADMIT = f"SELECT {COLUMNS} FROM ledger_admit(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 - constants
SETTLE = f"SELECT {COLUMNS} FROM ledger_settle(%s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 - constants
FIND = f"SELECT {COLUMNS} FROM ledger_find(%s, %s)"  # noqa: S608 - constants
_NAMES = tuple(name.removesuffix("::text") for name in COLUMNS.split(", "))
FINALIZE_STALE = "SELECT ledger_finalize_stale(%s)"


def admit(engine: Engine, request: Request, *, patience_seconds: float = 10.0) -> Lease | Stored | Running:
    """The right to perform the call; or how it ended; or who performs it. The reservation is durable on return.

    `project_busy` and `cooldown` carry the fact `retry_after_seconds`: by then at the latest a slot or a start is
    free. Unit: a try lasts at most 5 s, so patience may be outrun by as much.
    Raises: CapabilityDisabled, AgentNotPermitted, StepQuotaExhausted, RunQuotaExhausted, ProjectBusy, Cooldown,
    CallConflict: these leave no reservation behind. LedgerUnavailable: the call may be admitted, and its lease ends.
    """
    if max(len(request.key), len(request.task_id)) > KEY_CHARS:
        raise InvalidArguments("The call's id is too long.", field="call", limit=KEY_CHARS)
    try:
        row = call(engine, ADMIT, _request_values(request), patience_seconds=patience_seconds)
    except BUDGETS as error:
        note_denial(engine, request, error.code)
        if isinstance(error, ProjectBusy):
            # A slot in somebody's hands at this very moment shows no end yet; a lease that begins now is over by then.
            error.facts.setdefault("retry_after_seconds", request.tool.profile.limits.lease_seconds)
        raise
    answer = named(row)
    if answer["verdict"] == "stored":
        return stored_of(answer)
    if answer["verdict"] in {"running", "accepted"}:
        return Running(
            operation_id=answer["operation_id"], task_id=answer["task_id"], seconds_left=answer["seconds_left"]
        )
    return _lease(answer, request)


def settle(engine: Engine, lease: Lease, ending: Ending, *, patience_seconds: float | None = None) -> Stored:
    """What is stored for the operation afterwards: this ending, or the one that was there first.

    A repeat gives the same answer. Patience, where none is given, lasts until after the lease's end (decision 0017).
    Raises: SettingsChanged when the project was saved since admission and the ending is `completed`: nothing is
    written, and the caller settles again with a failed ending of that code. LedgerUnavailable.
    """
    if digest_of(ending.body) != ending.digest:
        msg = "the ending's digest is not its body's"
        raise ValueError(msg)
    values = (
        lease.operation_id,
        lease.owner,
        ending.state.value,
        ending.code,
        str(ending.sent),
        ending.body,
        ending.digest,
    )
    patience = lease.seconds_left + LATE_SECONDS if patience_seconds is None else patience_seconds
    row = call(engine, SETTLE, values, patience_seconds=patience)
    answer = named(row)
    if answer["verdict"] == "settings_changed":
        raise SettingsChanged("The project's settings were saved during the call.", operation=lease.operation_id)
    return stored_of(answer)


def finalize_stale(engine: Engine, limit: int = 500, *, patience_seconds: float = 10.0) -> int:
    """How many pending operations past their lease became `outcome_unknown`. Two at once share the work.

    Raises: LedgerUnavailable.
    """
    return int(call(engine, FINALIZE_STALE, (limit,), patience_seconds=patience_seconds)[0])


def find_ended(engine: Engine, project_id: str, key: str, *, patience_seconds: float = 10.0) -> Stored | None:
    """How a call ended, by its project and key; None while it is accepted or runs, or when nothing is known of it.

    A call past its lease is finalized by being looked for. Raises: LedgerUnavailable.
    """
    row = call(engine, FIND, (project_id, key), patience_seconds=patience_seconds)
    answer = named(row)
    return stored_of(answer) if answer["verdict"] == "stored" else None


def stored_of(answer: dict[str, Any]) -> Stored:
    """The end that a row with the verdict `stored` tells."""
    return Stored(
        operation_id=answer["operation_id"],
        state=OperationState(answer["state"]),
        code=answer["code"],
        sent=answer["sent"],
        body=answer["body"],
        digest=answer["digest"],
    )


def named(row: Row) -> dict[str, Any]:
    """An admission's row by its columns' names."""
    return dict(zip(_NAMES, row, strict=True))


def _request_values(request: Request) -> Row:
    profile, context = request.tool.profile, request.context
    quota = profile.quota
    return (
        context.project,
        request.key,
        request.tool.name,
        profile.family,
        context.agent,
        context.run,
        context.step,
        request.arguments_digest,
        request.owner,
        request.task_id,
        float(profile.limits.lease_seconds),
        quota.step_max,
        quota.run_max,
        quota.active_max,
        float(quota.gap_seconds),
    )


def _lease(answer: dict[str, Any], request: Request) -> Lease:
    quota = request.tool.profile.quota
    return Lease(
        operation_id=answer["operation_id"],
        owner=request.owner,
        generation=answer["generation"],
        admitted_at=answer["admitted_at"],
        until=answer["lease_until"],
        seconds_left=answer["seconds_left"],
        budget=BudgetLeft(
            step=max(0, quota.step_max - answer["step_used"]), run=max(0, quota.run_max - answer["run_used"])
        ),
    )
