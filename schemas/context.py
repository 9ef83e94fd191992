"""Contexts: who asks. The orchestrator's authority, never written by a model."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

SafeId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]


class Context(BaseModel):
    """Project, agent, run and step of a call; `call` makes a repeat recognisable (default: the task's id)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    project: SafeId
    agent: SafeId
    run: SafeId
    step: SafeId
    call: SafeId | None = None
    session: SafeId | None = None
    workspace: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = None
