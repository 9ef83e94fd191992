"""Grants: which permissions a token may carry, whom it lets act, and which web tools a project can give an agent."""

from dataclasses import dataclass
from typing import Literal

Permission = Literal[
    "project.web-search.manage", "project.runs.manage", "project.truth.review", "fleet.view", "agent.tools.call"
]
Family = Literal["search", "fetch"]

MANAGE: Permission = "project.web-search.manage"  # read and save a project's web settings (M133)
RUNS: Permission = "project.runs.manage"  # an orchestrator's: begin executions, read runs, announce retries
REVIEW: Permission = "project.truth.review"  # a person's: see completed truth-analysis runs, decide on candidates
FLEET: Permission = "fleet.view"  # the operations page: workers, queues, leases

TOOLS: Permission = "agent.tools.call"  # an agent's: list and call tools at the gateway, and nothing else

# What a person or an orchestrator may be given; an agent's token carries TOOLS alone.
PERMISSIONS: tuple[Permission, ...] = (MANAGE, RUNS, REVIEW, FLEET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Whom a token lets its bearer act as: the source of every call's context at the gateway.

    Shape: without a run (or a step) the bearer may name its own; a session is bound to one run and has tools of its
    own.
    """

    agent: str
    run: str | None = None
    step: str | None = None
    session: str | None = None


# The tools that these settings govern, and no others: shells and other MCP tools are none of their business (M159).
WEB_TOOLS: dict[Family, str] = {"search": "web_search", "fetch": "web_fetch"}


def tools_of(families: tuple[Family, ...]) -> tuple[str, ...]:
    """The web tools of these families, in the catalogue's order."""
    return tuple(sorted(WEB_TOOLS[family] for family in families))


def families_of(tools: tuple[str, ...]) -> tuple[Family, ...]:
    """The families of these web tools."""
    return tuple(family for family, tool in WEB_TOOLS.items() if tool in tools)
