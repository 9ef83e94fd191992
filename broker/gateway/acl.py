"""The access list: under which authority a request runs, and which tools its identity has. Asked before any dispatch.

An authority is made of the token's claim. Where a token is not bound to a run or a step, its bearer (an orchestrator's
client, never a model: these are words of the message's `_meta`) may name them. One that names none works in a run of
its own for a day, in steps of an hour, so that a client without an orchestrator has a budget that comes back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter, ValidationError

from broker.ledger.agents import Execution, begin_execution, read_agent, read_execution
from broker.ledger.engine import Ledger
from broker.ledger.tokens import Token
from schemas.context import Context, SafeId
from schemas.errors import CapabilityForbidden, InvalidArguments
from schemas.grants import Claim, Family
from schemas.tool import Tool
from schemas.tools import catalogue

# The words of `_meta` that a client may give. With the same `call` again, a call is answered from the ledger.
CALL, RUN, STEP = "outrider/call", "outrider/run", "outrider/step"
ONE_STEP = "mcp"  # of a run whose steps nobody tells apart
_SAFE_ID: TypeAdapter[str] = TypeAdapter(SafeId)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Who asks, for one request. `executes`: an orchestrator's execution, whose tools were given when it began."""

    context: Context
    executes: bool
    session: bool


def read_authority(bearer: Token, meta: Mapping[str, Any], now: datetime) -> Authority:
    """The authority of a request by this bearer. Raises: InvalidArguments, naming the word of `_meta`."""
    claim, project = bearer.claim, bearer.project
    if claim is None or project is None:  # the ledger's own checks keep such a token from being an agent's
        raise CapabilityForbidden("This token lets nobody act.")
    run = _bound(claim.run, meta, RUN)
    step = _bound(claim.step, meta, STEP)
    call = _word(meta, CALL)
    context = Context(
        project=project,
        agent=claim.agent,
        run=run or f"{bearer.id}.{now:%Y-%m-%d}",
        step=step or (ONE_STEP if run else f"{now:%H}h"),
        call=None if call is None else _key(claim, run, call),
        session=claim.session,
    )
    return Authority(context=context, executes=run is not None, session=claim.session is not None)


def tools_of(ledger: Ledger, authority: Authority) -> tuple[Tool, ...]:
    """The tools that this identity has now. Order: by name. Raises: LedgerUnavailable."""
    if authority.session:
        return tuple(tool for tool in catalogue().values() if tool.audience == "truth_session")
    families = _families(ledger, authority)
    return tuple(tool for tool in catalogue().values() if tool.audience == "agents" and tool.profile.family in families)


def insist(ledger: Ledger, authority: Authority, tool: Tool) -> None:
    """Nothing, for a tool that this identity has. Raises: CapabilityForbidden, LedgerUnavailable."""
    if tool not in tools_of(ledger, authority):
        raise CapabilityForbidden("This identity does not have this tool.", tool=tool.name)


def _families(ledger: Ledger, authority: Authority) -> tuple[Family, ...]:
    """What an execution was given when it began, less what was taken away since (M137); else what holds now."""
    context = authority.context
    if not authority.executes:
        return read_agent(ledger, context.project, context.agent).families
    execution = Execution(project=context.project, run=context.run, step=context.step, agent=context.agent)
    given = read_execution(ledger, execution)
    return begin_execution(ledger, execution) if given is None else given


def _bound(claimed: str | None, meta: Mapping[str, Any], name: str) -> str | None:
    """The token's own word; the client's where the token is not bound."""
    named = _word(meta, name)
    if claimed is not None and named not in {None, claimed}:
        raise InvalidArguments(f"This token is bound to another {name.rpartition('/')[2]}.", field=f"_meta.{name}")
    return claimed or named


def _word(meta: Mapping[str, Any], name: str) -> str | None:
    if meta.get(name) is None:
        return None
    try:
        return _SAFE_ID.validate_python(meta[name])
    except ValidationError:
        why = "must be letters, digits and . _ : - (first a letter or digit), 128 at most"
        raise InvalidArguments(f"_meta.{name} {why}", field=f"_meta.{name}") from None


def _key(claim: Claim, run: str | None, call: str) -> str:
    """The ledger's key of a client's call: of its agent and run alone, so that no identity meets another's calls.

    A day's run of a bearer's own is left out: the same call repeated after midnight is still the same call.
    """
    bound = json.dumps([claim.agent, run, call]).encode()
    return f"mcp-{sha256(bound).hexdigest()[:48]}"
