"""Tools: the contract of one capability."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from schemas.limits import Profile

Queue = Literal["search", "fetch", "models", "care"]
Category = Literal["web", "cowork"]


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
    agent is told. `category` says whose it is: `web` tools are given to agents by their family, `cowork` tools to
    sessions.
    """

    name: str
    queue: Queue
    profile: Profile
    args: type[BaseModel]
    result: type[BaseModel]
    description: str
    category: Category = "web"
    effects: Effects = Effects()
