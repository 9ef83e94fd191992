"""Tools: the contract of one capability."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from schemas.limits import Profile

Queue = Literal["search", "fetch", "models", "care"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One capability: its name is its Celery task, its file on both floors, and never changes once shipped.

    Shape: `args` is closed and is what a model writes; `result` is the envelope's `value`; `description` is what an
    agent is told.
    """

    name: str
    queue: Queue
    profile: Profile
    args: type[BaseModel]
    result: type[BaseModel]
    description: str
