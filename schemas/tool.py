"""Tools: the contract of one capability."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from schemas.limits import Profile

Queue = Literal["search", "fetch", "models", "care"]
Audience = Literal["agents", "truth_session", "orchestrator"]
Category = Literal["web", "cowork", "orchestration"]

_CATEGORIES: dict[Audience, Category] = {"agents": "web", "truth_session": "cowork", "orchestrator": "orchestration"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What a call does to the world, told to clients as MCP's hints (C15). The default is a tool that only reads."""

    read_only: bool = True
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One capability: its name is its Celery task, its file on both floors, and never changes once shipped.

    Shape: `args` is closed and is what a model writes; `result` is the envelope's `value`; `description` is what an
    agent is told. `audience` says who may be given it: agents by the family of its profile, a truth-analysis session,
    or orchestrators alone. `kept_by` says what makes a repeat recognisable: the `call` of its context, the
    truth-analysis `run` that it works for, or `nobody` where it is no operation.
    """

    name: str
    queue: Queue
    profile: Profile
    args: type[BaseModel]
    result: type[BaseModel]
    description: str
    audience: Audience = "agents"
    effects: Effects = Effects()
    kept_by: Literal["call", "run", "nobody"] = "call"

    @property
    def category(self) -> Category:
        """What kind of tool a client is told that it is (M1)."""
        return _CATEGORIES[self.audience]
