"""The bodies of the API: what is taken, and what is given."""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from schemas.context import SafeId

AGENTS_MAX = 200
T = TypeVar("T")
WebTool = Literal["web_search", "web_fetch"]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Data(_Body, Generic[T]):
    """The envelope of an answer."""

    data: T


class SettingsOut(_Body):
    """A project's web settings: the three fields of the document (M134)."""

    enabled: bool
    fetchEnabled: bool  # noqa: N815 - the document's names, here and below
    agents: list[str]


class SettingsIn(_Body):
    """Settings to save. An older client knows nothing of fetch, and saves it as off (M135)."""

    enabled: bool
    fetchEnabled: bool = False  # noqa: N815
    agents: Annotated[list[SafeId], Field(max_length=AGENTS_MAX)]


class AgentTools(_Body):
    """What an agent would be given if it began now.

    `permitted`: the project's settings name it. `toolList`: its own list, null when it has none. `tools`: what comes
    of both with the project's switches.
    """

    agent: str
    permitted: bool
    toolList: list[str] | None  # noqa: N815
    tools: list[str]


class ToolListIn(_Body):
    """An agent's own tool list. Empty: neither tool (M136). Null: whatever the project permits."""

    tools: list[WebTool] | None


class ExecutionOut(_Body):
    """What an agent was given for this execution, less what was taken away since (M137)."""

    agent: str
    run: str
    step: str
    tools: list[str]


class FamilyCalls(_Body):
    """Calls of one family: all of them, refused and unsuccessful ones with them; and what they reserved (M152)."""

    calls: int = 0
    completed: int = 0
    reservations: int = 0


class AgentSummary(_Body):
    """What one agent called in a run."""

    agent: str
    search: FamilyCalls
    fetch: FamilyCalls


class StepOut(_Body):
    """A step that took something from the live web: a retry runs it again (M153)."""

    step: str
    agents: list[str]
    liveWebInputs: Literal[True] = True  # noqa: N815
    runsAgainOnRetry: Literal[True] = True  # noqa: N815


class RunOut(_Body):
    """One run: its agents' calls, and its steps with live web inputs."""

    run: str
    agents: list[AgentSummary]
    steps: list[StepOut]


class RetryOut(_Body):
    """What a retry of the run has to do: which agents had web lookups, and which steps run again."""

    run: str
    agents: list[str]
    steps: list[StepOut]
