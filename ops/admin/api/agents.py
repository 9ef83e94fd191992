"""An agent's web tools: now, and in the executions that have begun (M136, M137)."""

from typing import Annotated

from fastapi import APIRouter, Path

from broker.ledger.agents import Agent, Execution, begin_execution, read_agent, read_execution, save_tool_list
from ops.admin.api.bodies import AgentTools, Data, ExecutionOut, ToolListIn
from ops.admin.bearer import Manager, Orchestrator, ProjectId, Reader
from ops.admin.desk import AtDesk
from ops.admin.problems import Problem, documented
from schemas.context import SafeId
from schemas.grants import Family, families_of, tools_of

router = APIRouter(prefix="/api/admin/projects/{projectId}", tags=["agents"])

AgentName = Annotated[SafeId, Path(description="The agent's name.")]
Run = Annotated[SafeId, Path(description="The top-level run.")]
Step = Annotated[SafeId, Path(description="The logical step of it.")]
_EXECUTION = "/runs/{run}/steps/{step}/agents/{agent}/execution"


@router.get("/agents/{agent}/tools", operation_id="readAgentTools", responses=documented())
def read(project_id: ProjectId, agent: AgentName, _token: Reader, desk: AtDesk) -> Data[AgentTools]:
    """Say which web tools the agent would be given if it began now."""
    return _tools(read_agent(desk.ledger, project_id, agent))


@router.put("/agents/{agent}/tools", operation_id="saveAgentTools", responses=documented(400, 413))
def save(project_id: ProjectId, agent: AgentName, token: Manager, wanted: ToolListIn, desk: AtDesk) -> Data[AgentTools]:
    """Save the agent's own tool list: a settings change like any other, which calls under way are told of."""
    families = None if wanted.tools is None else families_of(tuple(wanted.tools))
    save_tool_list(desk.ledger, project_id, agent, families, actor=token.actor())
    return _tools(read_agent(desk.ledger, project_id, agent))


@router.put(_EXECUTION, operation_id="beginExecution", responses=documented())
def begin(
    project_id: ProjectId, run: Run, step: Step, agent: AgentName, _token: Orchestrator, desk: AtDesk
) -> Data[ExecutionOut]:
    """Begin to execute an agent at a step: today's grants are its tools until it begins again."""
    execution = Execution(project=project_id, run=run, step=step, agent=agent)
    return _executing(execution, begin_execution(desk.ledger, execution))


@router.get(_EXECUTION, operation_id="readExecution", responses=documented(404))
def during(
    project_id: ProjectId, run: Run, step: Step, agent: AgentName, _token: Reader, desk: AtDesk
) -> Data[ExecutionOut]:
    """Say which tools a running agent has: no grant since it began, and nothing that was taken away since."""
    execution = Execution(project=project_id, run=run, step=step, agent=agent)
    families = read_execution(desk.ledger, execution)
    if families is None:
        raise Problem(404)
    return _executing(execution, families)


def _tools(agent: Agent) -> Data[AgentTools]:
    return Data(
        data=AgentTools(
            agent=agent.name,
            permitted=agent.permitted,
            toolList=None if agent.listed is None else list(tools_of(agent.listed)),
            tools=list(tools_of(agent.families)),
        )
    )


def _executing(execution: Execution, families: tuple[Family, ...]) -> Data[ExecutionOut]:
    given = ExecutionOut(agent=execution.agent, run=execution.run, step=execution.step, tools=list(tools_of(families)))
    return Data(data=given)
