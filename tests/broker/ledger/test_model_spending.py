"""What a run's model may spend: reserved under a lock, settled once, never over the ceiling (M31, X11)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine

from broker.ledger.engine import ledger_engine
from broker.ledger.model_spending import (
    claim_session,
    close_session,
    end_deserted,
    hold_session,
    open_session,
    reserve_request,
    settle_request,
)
from broker.ledger.truth_runs import end_run, read_run
from schemas import errors
from schemas.truth import MODEL_CEILING_NANOUSD, Run, RunState
from tests.ledger_calls import run_sql
from tests.truth_runs import age, stored

OWNER = "delivery-1"


def begun(ledger: Engine) -> Run:
    """A running run whose session is claimed."""
    run = stored(ledger)
    open_session(ledger, run.id)
    assert claim_session(ledger, run.id, OWNER)
    return run


def reserve(ledger: Engine, run: Run, worst: int, owner: str = OWNER) -> str:
    return reserve_request(ledger, run.id, owner, "main", worst)


def committed(ledger: Engine, run: Run) -> int:
    """What the session counts, which is what its requests count."""
    asked = "SELECT coalesce(sum(coalesce(settled_nanousd, reserved_nanousd)), 0) FROM model_requests WHERE run = :r"
    found = [tuple(row) for row in run_sql(ledger, asked, r=run.id)]
    told = run_sql(ledger, "SELECT committed_nanousd FROM model_sessions WHERE run = :r", r=run.id)
    assert [tuple(row) for row in told] == found
    return int(found[0][0])


@pytest.mark.parametrize("short", [1, 0], ids=["under", "at"])
def test_request_fits_under_and_at_the_ceiling(ledger: Engine, short: int) -> None:
    run = begun(ledger)
    reserve(ledger, run, 1_000)
    reserve(ledger, run, MODEL_CEILING_NANOUSD - 1_000 - short)
    assert committed(ledger, run) == MODEL_CEILING_NANOUSD - short


def test_request_that_does_not_fit_reserves_nothing(ledger: Engine) -> None:
    """M31: over by one nano-dollar; a smaller one still fits afterwards."""
    run = begun(ledger)
    reserve(ledger, run, 1_000)
    with pytest.raises(errors.CostCeilingReached):
        reserve(ledger, run, MODEL_CEILING_NANOUSD - 999)
    assert committed(ledger, run) == 1_000
    reserve(ledger, run, MODEL_CEILING_NANOUSD - 1_000)


@pytest.mark.parametrize(("cost", "counts"), [(9, 9), (10, 10), (11, 10), (10**15, 10)])
def test_settled_request_counts_what_it_cost_and_its_reservation_at_most(
    ledger: Engine, cost: int, counts: int
) -> None:
    run = begun(ledger)
    request = reserve(ledger, run, 10)
    settle_request(ledger, request, cost)
    settle_request(ledger, request, 0)  # a repeat changes nothing
    assert committed(ledger, run) == counts


def test_racing_reservations_never_pass_the_ceiling(ledger_url: str) -> None:
    """X11: parallel work cannot double-spend."""
    ledger = ledger_engine(ledger_url, size=20)
    run = begun(ledger)

    def attempt(_number: int) -> bool:
        try:
            reserve(ledger, run, MODEL_CEILING_NANOUSD // 7)
        except errors.CostCeilingReached:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(attempt, range(40))) == 7
    assert committed(ledger, run) == 7 * (MODEL_CEILING_NANOUSD // 7)
    ledger.dispose()


def test_session_is_claimed_once_and_serves_its_holder_alone(ledger: Engine) -> None:
    """X11: a redelivered message spends nothing."""
    run = begun(ledger)
    open_session(ledger, run.id)
    assert not claim_session(ledger, run.id, "delivery-2")
    assert not hold_session(ledger, run.id, "delivery-2")
    with pytest.raises(errors.OutriderError):
        reserve(ledger, run, 1, owner="delivery-2")
    assert hold_session(ledger, run.id, OWNER)
    assert committed(ledger, run) == 0


def ended(ledger: Engine, run: Run) -> None:
    end_run(ledger, run.id, RunState.FAILED, "cancelled")


def overdue(ledger: Engine, run: Run) -> None:
    age(ledger, run.id, 1_801)


@pytest.mark.parametrize(("end", "error"), [(ended, errors.RunTerminal), (overdue, errors.ExecutionDeadlineExceeded)])
def test_run_that_has_ended_spends_no_more(ledger: Engine, end: Any, error: type[Exception]) -> None:
    run = begun(ledger)
    end(ledger, run)
    with pytest.raises(error):
        reserve(ledger, run, 1)
    assert committed(ledger, run) == 0


def let_lease_end(ledger: Engine, run: Run) -> None:
    expired = "UPDATE model_sessions SET lease_until = clock_timestamp() - interval '1 s' WHERE run = :r RETURNING run"
    run_sql(ledger, expired, r=run.id)


def standing(ledger: Engine, run: Run) -> tuple[str, str | None]:
    found = read_run(ledger, run.id)
    assert found is not None
    return found.state.value, found.code


def test_deserted_run_is_ended_by_the_finalization(ledger: Engine) -> None:
    """A killed worker's run: only once its lease is over, and its session spends no more."""
    run = begun(ledger)
    end_deserted(ledger)
    assert standing(ledger, run) == ("running", None)
    let_lease_end(ledger, run)
    end_deserted(ledger)
    assert standing(ledger, run) == ("failed", "worker_exited_before_submission")
    assert not hold_session(ledger, run.id, OWNER)


def test_run_that_no_worker_took_is_unavailable(ledger: Engine) -> None:
    run = stored(ledger)
    open_session(ledger, run.id)
    let_lease_end(ledger, run)
    end_deserted(ledger)
    assert standing(ledger, run) == ("unavailable", "worker_unavailable")
    assert not claim_session(ledger, run.id, OWNER)


def test_closed_session_of_a_completed_run_is_no_ones_business(ledger: Engine) -> None:
    run = begun(ledger)
    close_session(ledger, run.id)
    let_lease_end(ledger, run)
    end_deserted(ledger)
    assert standing(ledger, run) == ("running", None)
