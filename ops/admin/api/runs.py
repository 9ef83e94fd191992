"""Runs: what each agent called, and which steps run again on a retry (M152, M153)."""

from collections.abc import Iterable

from fastapi import APIRouter

from broker.ledger.runs import AgentCalls, LiveStep, announce_retry, read_agent_calls, read_live_steps
from ops.admin.api.agents import Run
from ops.admin.api.bodies import AgentSummary, Data, FamilyCalls, RetryOut, RunOut, StepOut
from ops.admin.bearer import Orchestrator, ProjectId, Reader
from ops.admin.desk import AtDesk
from ops.admin.problems import documented
from schemas.grants import Family

router = APIRouter(prefix="/api/admin/projects/{projectId}/runs/{run}", tags=["runs"])


@router.get("", operation_id="readRun", responses=documented())
def read(project_id: ProjectId, run: Run, _token: Reader, desk: AtDesk) -> Data[RunOut]:
    """Summarise a run. One that nothing was called in is empty: the ledger knows runs by their calls alone."""
    calls = read_agent_calls(desk.ledger, project_id, run)
    steps = read_live_steps(desk.ledger, project_id, run)
    return Data(data=RunOut(run=run, agents=_summaries(calls), steps=_steps(steps)))


@router.post("/retries", operation_id="announceRetry", responses=documented())
def retry(project_id: ProjectId, run: Run, token: Orchestrator, desk: AtDesk) -> Data[RetryOut]:
    """Ask what a retry of the run must execute again; the run's log says so for each such step."""
    steps = announce_retry(desk.ledger, project_id, run, actor=token.actor())
    agents = sorted({agent for step in steps for agent in step.agents})
    return Data(data=RetryOut(run=run, agents=agents, steps=_steps(steps)))


def _summaries(calls: Iterable[AgentCalls]) -> list[AgentSummary]:
    by_agent: dict[str, dict[Family, FamilyCalls]] = {}
    for one in calls:
        counted = FamilyCalls(calls=one.calls, completed=one.completed, reservations=one.reservations)
        by_agent.setdefault(one.agent, {})[one.family] = counted
    return [
        AgentSummary(agent=agent, search=said.get("search", FamilyCalls()), fetch=said.get("fetch", FamilyCalls()))
        for agent, said in by_agent.items()
    ]


def _steps(steps: Iterable[LiveStep]) -> list[StepOut]:
    return [StepOut(step=one.step, agents=list(one.agents)) for one in steps]
