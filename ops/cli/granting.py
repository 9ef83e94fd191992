"""`outrider token`: who may administer, or call tools as an agent, and for how long."""

import getpass
import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from broker.ledger.tokens import Token, Wanted, agent_token, create_token, list_tokens, revoke_token
from ops.cli.keeping import As_Json, open_ledger, safe
from ops.cli.printing import FAILED, give, give_json, leave, say
from schemas.grants import FLEET, MANAGE, PERMISSIONS, Claim, Permission

token = typer.Typer(no_args_is_help=True, help="Who may administer, or act as an agent, and for how long.")

_UNITS = {"m": 60, "h": 3600, "d": 86_400}
LONGEST_DAYS = 366


def _permission(names: list[str] | None) -> list[str] | None:
    for name in names or ():
        if name not in PERMISSIONS:
            why = f"{name!r} is no permission: {', '.join(PERMISSIONS)}"
            raise typer.BadParameter(why)
    return names


def _seconds(text: str) -> str:
    """The text, where it is a time that a token may live. Raises: typer.BadParameter."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})([mhd])", text)
    if found is None or seconds_in(text) > LONGEST_DAYS * _UNITS["d"]:
        why = f"{text!r} is no time to live: 90m, 12h or 30d, {LONGEST_DAYS}d at most"
        raise typer.BadParameter(why)
    return text


def seconds_in(text: str) -> int:
    """The seconds of a time like 90m, 12h or 30d."""
    return int(text[:-1]) * _UNITS[text[-1]]


@token.command("create")
def create(  # noqa: PLR0913 - a command has as many as its options
    name: Annotated[str, typer.Argument(help="Whose it is: the audit trail says so.", callback=safe)],
    *,
    permission: Annotated[
        list[str] | None, typer.Option(help=f"May be given again: {', '.join(PERMISSIONS)}.", callback=_permission)
    ] = None,
    project: Annotated[str | None, typer.Option(help="The one project it is for; default: every project.")] = None,
    agent: Annotated[str | None, typer.Option(help="Act as this agent at the gateway, and nothing else.")] = None,
    run: Annotated[str | None, typer.Option(help="The one run that the agent's token is for.")] = None,
    step: Annotated[str | None, typer.Option(help="The one step of it.")] = None,
    expires: Annotated[str, typer.Option(help="How long it lives: 90m, 12h, 30d.", callback=_seconds)] = "30d",
    as_json: As_Json = False,
) -> None:
    """Make a token, and print it: once, for only its digest is kept.

    It logs a person in to the admin pages, and a program in to the API. Without --permission it may save settings, and
    watch the fleet unless it is for one project. With --agent and --project it is an agent's, for the MCP gateway.

    Example: outrider token create alice --permission project.web-search.manage --project research --expires 30d
    """
    scope = None if project is None else safe(project)
    if (claim := _claim(agent, run, step)) is None:
        permissions = _permissions(permission, scope)
        wanted = Wanted(name=name, permissions=permissions, project=scope, seconds=seconds_in(expires))
    elif scope is None or permission is not None:
        why = "an agent's token is for one project, and for tools alone: give --project and no --permission"
        raise typer.BadParameter(why, param_hint="--agent")
    else:
        wanted = agent_token(name, claim, scope, seconds=seconds_in(expires))
    with open_ledger() as ledger:
        made, secret = create_token(ledger, wanted, actor=_actor())
    if as_json:
        give_json(_told(made) | {"token": secret})
        return
    say(f"{made.id} for {made.name}: {_scope(made)}, until {made.expires_at:%Y-%m-%d %H:%M} UTC. Shown this once:")
    give(secret)


def _permissions(asked: list[str] | None, scope: str | None) -> tuple[Permission, ...]:
    """What a person's or a program's token carries. Raises: typer.BadParameter for the fleet with one project."""
    if scope is not None and FLEET in (asked or ()):
        why = f"{FLEET} is for tokens of every project: what the fleet does names them all"
        raise typer.BadParameter(why, param_hint="--permission")
    wanted = asked or ((MANAGE, FLEET) if scope is None else (MANAGE,))
    return tuple(one for one in PERMISSIONS if one in wanted)


@token.command("list")
def list_all(*, as_json: As_Json = False) -> None:
    """List the tokens that were made, without their secrets.

    Example: outrider token list --json
    """
    with open_ledger() as ledger:
        found = list_tokens(ledger)
    if as_json:
        give_json([_told(one) for one in found])
        return
    for one in found:
        give(f"{one.id}  {one.name}  {_state(one)}  {_scope(one)}  by {one.created_by}")
    if not found:
        say("no token was made yet: outrider token create NAME")


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `token list` shows.")],
    *,
    as_json: As_Json = False,
) -> None:
    """End a token now, and the visits that were begun with it. Exit code 3 when there is no living one of that id.

    Example: outrider token revoke tk-1a2b3c4d5e
    """
    with open_ledger() as ledger:
        ended = revoke_token(ledger, token_id, actor=_actor())
    if ended is None:
        say(f"no living token {token_id}")
        leave(FAILED)
    if as_json:
        give_json(_told(ended))
    else:
        give(f"{ended.id} of {ended.name} is revoked")


def _claim(agent: str | None, run: str | None, step: str | None) -> Claim | None:
    """Whom the token lets act; None where that is nobody. Raises: typer.BadParameter."""
    if agent is None and run is None and step is None:
        return None
    if agent is None or (step is not None and run is None):
        why = "a step belongs to a run, and a run to an agent: give all of them"
        raise typer.BadParameter(why, param_hint="--run")
    return Claim(agent=safe(agent), run=run and safe(run), step=step and safe(step))


def _actor() -> str:
    return f"cli:{getpass.getuser()}"


def _told(one: Token) -> dict[str, Any]:
    return asdict(one) | {"state": _state(one)}


def _scope(one: Token) -> str:
    what = ", ".join(one.permissions)
    if one.claim is not None:
        what = f"agent {one.claim.agent}" + (f" at run {one.claim.run}" if one.claim.run else "")
    return f"{what} in {one.project or 'every project'}"


def _state(one: Token) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "living" if one.expires_at > datetime.now(UTC) else "expired"
