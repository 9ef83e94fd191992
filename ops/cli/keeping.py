"""`outrider migrate`, `project` and `receipt`: the ledger's own commands."""

import getpass
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from broker import settings as configuration
from broker.ledger.agents import Agent, read_agents, save_tool_list
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.health import durability, schema_is_current
from broker.ledger.projects import Project, read_project, save_project
from broker.ledger.receipts import read_receipt
from ops.cli.printing import FAILED, OURS, UNKNOWN, give, give_json, leave, say
from ops.stack import ledger as schema
from ops.stack import sharing
from ops.stack.faults import StackError, StartInterrupted
from ops.stack.interrupts import Interrupts
from schemas.context import SafeId
from schemas.errors import Broken
from schemas.grants import WEB_TOOLS, families_of, tools_of
from schemas.operation import Stored
from schemas.receipt import digest_of

project = typer.Typer(no_args_is_help=True, help="Who may use the web, in each project.")
receipt = typer.Typer(no_args_is_help=True, help="The final accounts of operations.")

As_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def safe(name: str) -> str:
    """The id, where a call's context can carry it. Raises: typer.BadParameter."""
    try:
        return TypeAdapter(SafeId).validate_python(name)
    except ValidationError as error:
        why = f"{name!r} is no id: letters, digits and . _ : - (first a letter or digit), 128 at most"
        raise typer.BadParameter(why) from error


Project_Id = Annotated[str, typer.Argument(metavar="ID", help="The project's id, for instance local.", callback=safe)]


def migrate() -> None:
    """Bring the ledger's schema up to date; does nothing where it is.

    Example: OUTRIDER_DATABASE_URL=postgresql://... outrider migrate
    """
    settings = configuration.settings()
    if settings.database_url is not None:
        schema.make_current(settings.database_url)
    with open_ledger() as ledger:
        try:
            durability(ledger)
        except Broken as error:
            say(f"{error.message} {error.hint}")
            leave(OURS)
        say("the schema is current" if schema_is_current(ledger) else "the schema is not the one of this version")


@project.command("show")
def show_project(project_id: Project_Id, *, as_json: As_Json = False) -> None:
    """Show a project's settings as last saved.

    Example: outrider project show local
    """
    with open_ledger() as ledger:
        _show_project(ledger, read_project(ledger, project_id), as_json=as_json)


@project.command("set")
def set_project(
    project_id: Project_Id,
    *,
    enabled: Annotated[bool | None, typer.Option(help="Whether the project may use the web at all.")] = None,
    fetch: Annotated[bool | None, typer.Option(help="Whether it may fetch pages.")] = None,
    agents: Annotated[str | None, typer.Option(help="Agents that may, with commas between.")] = None,
    as_json: As_Json = False,
) -> None:
    """Save a project's settings; what is not named stays. Calls under way are answered with settings_changed.

    A project that was never saved has everything off, and agent `designer` preselected.

    Example: outrider project set research --enabled --fetch --agents designer,planner
    """
    named = None if agents is None else tuple(_names(agents))
    if enabled is None and fetch is None and named is None:
        say("nothing to save: name --enabled or --no-enabled, --fetch or --no-fetch, or --agents NAME,NAME")
        leave(OURS)
    with open_ledger() as ledger:
        before = read_project(ledger, project_id)
        wanted = replace(
            before,
            enabled=before.enabled if enabled is None else enabled,
            fetch_enabled=before.fetch_enabled if fetch is None else fetch,
            agents=before.agents if named is None else named,
        )
        _show_project(ledger, save_project(ledger, wanted, actor=_actor()), as_json=as_json)


@project.command("tools")
def set_tools(
    project_id: Project_Id,
    agent: Annotated[str, typer.Argument(help="The agent's name.", callback=safe)],
    *,
    only: Annotated[
        str | None, typer.Option(help='Its own tool list: web_search,web_fetch; "" for neither. Default: no list.')
    ] = None,
    as_json: As_Json = False,
) -> None:
    """Save an agent's own tool list: it gets no tool beyond it. Without --only it has none, and gets what is permitted.

    A list permits nothing by itself: `project set --agents` does.

    Example: outrider project tools research designer --only web_search
    """
    tools = None if only is None else tuple(name.strip() for name in only.split(",") if name.strip())
    if unknown := sorted(set(tools or ()) - set(WEB_TOOLS.values())):
        why = f"{unknown[0]!r} is none of {', '.join(WEB_TOOLS.values())}"
        raise typer.BadParameter(why)
    with open_ledger() as ledger:
        families = None if tools is None else families_of(tools)
        save_tool_list(ledger, project_id, agent, families, actor=_actor())
        _show_project(ledger, read_project(ledger, project_id), as_json=as_json)


def _actor() -> str:
    return f"cli:{getpass.getuser()}"


def _names(text: str) -> Iterator[str]:
    return (safe(name.strip()) for name in text.split(",") if name.strip())


def _show_project(ledger: Ledger, found: Project, *, as_json: bool) -> None:
    """The settings, and which tools each agent would be given if it began now (M136)."""
    if found.updated_at is None:
        say(f"{found.id} was never saved; these are the defaults")
    agents = read_agents(ledger, found.id)
    if as_json:
        give_json(asdict(found) | {"tools": {one.name: tools_of(one.families) for one in agents}})
        return
    saved = (
        f"save {found.generation}, at {found.updated_at:%Y-%m-%d %H:%M:%S} UTC" if found.updated_at else "never saved"
    )
    give(
        f"{found.id}: web {'on' if found.enabled else 'off'}, fetch {'on' if found.fetch_enabled else 'off'}, "
        f"agents {', '.join(found.agents) or 'none'}; {saved}"
    )
    for one in agents:
        give(f"  {one.name}: {_tools(one)}")


def _tools(agent: Agent) -> str:
    own = "" if agent.listed is None else f"; its own list: {', '.join(tools_of(agent.listed)) or 'empty'}"
    return (", ".join(tools_of(agent.families)) or "neither tool") + own


@receipt.command("show")
def show_receipt(
    receipt_id: Annotated[str, typer.Argument(metavar="ID", help="The operation's id, as the receipt line shows it.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the receipt's very bytes on stdout.")] = False,
) -> None:
    """Show a receipt, and whether its digest is right. Exit code 3 when there is none, 1 when the digest is wrong.

    Example: outrider receipt show 0198c3f2-... --json
    """
    with open_ledger() as ledger:
        stored = read_receipt(ledger, receipt_id)
    if stored is None:
        say(f"no receipt {receipt_id}: no such operation, or it has not ended")
        leave(FAILED)
    else:
        _show_receipt(stored, as_json=as_json)


def _show_receipt(stored: Stored, *, as_json: bool) -> None:
    give(stored.body if as_json else json.dumps(json.loads(stored.body), ensure_ascii=False, indent=2))
    if digest_of(stored.body) != stored.digest:
        say(f"the digest is WRONG: the receipt's bytes do not give {stored.digest}")
        leave(OURS)
    say(f"digest {stored.digest} is right")


@contextmanager
def open_ledger() -> Iterator[Ledger]:
    """The ledger of the running stack, or of stores started for the command."""
    settings = configuration.settings()
    try:
        if settings.database_url is not None:
            with _engine(settings.database_url) as ledger:
                yield ledger
            return
        with (
            Interrupts() as interrupts,
            sharing.open_stores(settings, say=say, asked=interrupts.asked) as found,
            _engine(found.require_database_url()) as ledger,
        ):
            yield ledger
    except StartInterrupted:
        say("interrupted")
        leave(UNKNOWN)
    except StackError as error:
        say(str(error))
        leave(OURS)


@contextmanager
def _engine(url: str) -> Iterator[Ledger]:
    ledger = ledger_engine(url, size=1)
    try:
        yield ledger
    finally:
        ledger.dispose()
