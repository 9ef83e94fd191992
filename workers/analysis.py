"""Analysis: the task in which a model of the deployment works on a run, from its claim to the run's end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog
from celery import Task

from broker.app import app
from broker.ledger.engine import Ledger
from broker.ledger.model_spending import claim_session, close_session, hold_session, reserve_request, settle_request
from broker.ledger.tokens import agent_token, create_token, revoke_token
from broker.ledger.truth_runs import OVERDUE_CODE, end_run, read_run
from broker.logs import where
from broker.settings import secret_of, settings
from schemas.errors import CostControlUnavailable, ExecutionDeadlineExceeded, LedgerUnavailable, OutriderError
from schemas.grants import Claim
from schemas.truth import WORKER_EXITED, Run, RunState
from workers.handover import TASK, configured_route
from workers.hands import hands
from workers.models.agent import Post, work

AGENT = "truth-analyst"
ACTOR = "model-worker"
HOLD_SECONDS = 15.0  # a quarter of the lease
TOKEN_SLACK_SECONDS = 60.0

# The ends that are codes of a run. Whatever else stopped its worker: it left before its submission.
_CODES = frozenset({"cost_ceiling_reached", "cost_control_unavailable", OVERDUE_CODE})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """What one delivery may spend on one run."""

    ledger: Ledger
    run: str
    owner: str
    route: str

    def reserve(self, worst_nanousd: int) -> str:
        """The id of a request that may be sent. Raises: as `reserve_request`."""
        return reserve_request(self.ledger, self.run, self.owner, self.route, worst_nanousd)

    def settle(self, request_id: str, cost_nanousd: int) -> None:
        """Count what it cost. Raises: LedgerUnavailable; its worst case stays counted then."""
        settle_request(self.ledger, request_id, cost_nanousd)


# Acknowledged at once: what was begun is never begun again, and a run outlives any redelivery timeout.
@app.task(name=TASK, bind=True, acks_late=False, ignore_result=True, max_retries=0)
def analyse_run(self: "Task[Any, Any]", *, run: str) -> None:
    """Let the deployment's model work on the run. One delivery does, once, whatever the broker repeats."""
    ledger, owner = hands().ledger, str(self.request.id)
    found = read_run(ledger, run)
    if found is None or not claim_session(ledger, run, owner):
        return
    code = WORKER_EXITED
    try:
        code = _attempt(ledger, found, owner)
    finally:
        close_session(ledger, run)
        failed = end_run(ledger, run, RunState.FAILED, code)
        _log.info("analysis_ended", run=run, code=code if failed else None)


def _attempt(ledger: Ledger, run: Run, owner: str) -> str:
    """The code of whatever stopped the model, for a run that it did not complete."""
    try:
        asyncio.run(_work(ledger, run, owner))
    except OutriderError as error:
        return error.code if error.code in _CODES else WORKER_EXITED
    except Exception as error:  # noqa: BLE001 - its text may hold a passage, a page or a prompt
        kind, place = type(error).__name__, where(error.__traceback__)
        _log.warning("model_worker_broke", run=run.id, exception=kind, at=place)
    return WORKER_EXITED


async def _work(ledger: Ledger, run: Run, owner: str) -> None:
    """Raises: ExecutionDeadlineExceeded, CostControlUnavailable, whatever `work` raises."""
    found = configured_route()
    if found is None:
        raise CostControlUnavailable("The models file has no route for runs any more.")
    name, route = found
    key = None if route.key_env is None else secret_of(route.key_env)
    purse = Purse(ledger=ledger, run=run.id, owner=owner, route=name)
    seconds = (run.deadline_at - datetime.now(UTC)).total_seconds()
    async with _token(ledger, run, seconds) as token, _held(ledger, run.id, owner):
        post = Post(gateway_url=settings().gateway_address(), token=token)
        try:
            async with asyncio.timeout(seconds) as limit:
                await work(route, key, post, purse, run.id)
        except TimeoutError:
            if limit.expired():
                raise ExecutionDeadlineExceeded("The run's thirty minutes are over.") from None
            raise


@asynccontextmanager
async def _token(ledger: Ledger, run: Run, seconds: float) -> AsyncIterator[str]:
    """The secret of a token that is the run's session, for as long as the block runs."""
    claim = Claim(agent=AGENT, run=run.id, session=run.session)
    wanted = agent_token(ACTOR, claim, run.project, seconds=max(0.0, seconds) + TOKEN_SLACK_SECONDS)
    token, secret = await asyncio.to_thread(partial(create_token, ledger, wanted, actor=ACTOR))
    try:
        yield secret
    finally:
        revoke_token(ledger, token.id, actor=ACTOR)


@asynccontextmanager
async def _held(ledger: Ledger, run_id: str, owner: str) -> AsyncIterator[None]:
    """Hold the session's lease while the block runs."""

    async def hold() -> None:
        while True:
            await asyncio.sleep(HOLD_SECONDS)
            with suppress(LedgerUnavailable):  # a lease bears three that are missed
                await asyncio.to_thread(hold_session, ledger, run_id, owner)

    holding = asyncio.create_task(hold())
    try:
        yield
    finally:
        holding.cancel()
