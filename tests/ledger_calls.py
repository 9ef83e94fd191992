"""Calls as a worker would bring them, for tests that need a ledger with something in it."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from sqlalchemy import Engine, text

from schemas.context import Context
from schemas.limits import Profile, Quota
from schemas.operation import Ending, Lease, OperationState, Request
from schemas.profiles import WEB_FETCH
from schemas.receipt import canonical, digest_of
from schemas.tools.web_fetch import TOOL

SEARCH_QUOTA = Quota(step_max=20, run_max=100, active_max=1, gap_seconds=2.0)  # DESIGN section 5, web_search
_numbers = count()


def profile(*, family: str = "fetch", lease_seconds: float = 45, **quota: float) -> Profile:
    """web_fetch's profile with other numbers."""
    limits = replace(WEB_FETCH.limits, lease_seconds=lease_seconds)
    return replace(WEB_FETCH, family=family, limits=limits, quota=replace(WEB_FETCH.quota, **quota))


def request(*, profile: Profile = WEB_FETCH, key: str | None = None, **other: Any) -> Request:
    """One delivery of one call; a new call unless a key is given."""
    names = {name: other.pop(name) for name in ("project", "agent", "run", "step") if name in other}
    number = next(_numbers)
    fields: dict[str, Any] = {
        "tool": replace(TOOL, profile=profile, name=other.pop("tool", "web_fetch")),
        "context": Context(**{"project": "p", "agent": "a", "run": "r", "step": "s"} | names),
        "key": key or f"call-{number}",
        "arguments_digest": "a" * 64,
        "owner": f"owner-{number}",
        "task_id": f"task-{number}",
    }
    return Request(**fields | other)


def ending(state: str = "completed", *, code: str | None = None, sent: str = "sent", **body: Any) -> Ending:
    text_ = canonical({"state": state, **body})
    return Ending(state=OperationState(state), code=code, sent=sent, body=text_, digest=digest_of(text_))


def failed(code: str = "network_error", sent: str = "sent") -> Ending:
    return ending("failed", code=code, sent=sent)


def run_sql(engine: Engine, statement: str, **values: Any) -> list[Any]:
    """The rows of a statement that a test asks on its own."""
    with engine.connect() as connection:
        result = connection.execute(text(statement), values)
        return list(result) if result.returns_rows else []


def contents(engine: Engine) -> dict[str, list[Any]]:
    """Every row that an admission may write."""
    tables = ("operations", "requests", "receipts", "slots", "pacing", "counters")
    return {name: sorted(run_sql(engine, f"TABLE {name}"), key=str) for name in tables}


def pass_lease(engine: Engine, lease: Lease) -> None:
    """Let the lease's time be over, as if an hour had gone by."""
    run_sql(
        engine,
        "UPDATE operations SET admitted_at = admitted_at - interval '1 hour', "
        "lease_until = lease_until - interval '1 hour' WHERE id = :id",
        id=lease.operation_id,
    )
    run_sql(
        engine, "UPDATE slots SET until = until - interval '1 hour' WHERE operation_id = :id", id=lease.operation_id
    )


def wait_until(condition: Callable[[], Any], *, seconds: float = 20) -> Any:
    """The condition's first true answer."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "the condition did not come true in time"
        time.sleep(0.005)
    return found
