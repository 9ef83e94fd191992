"""`outrider gateway`: the MCP door, over stdio for one client, or over HTTP beside stores of your own."""

import os
import sys
from typing import Annotated

import anyio
import typer

from broker import logs
from broker import settings as configuration
from broker.ledger.engine import ledger_engine
from broker.settings import Settings
from ops.cli.printing import FAILED, OURS, leave, say
from ops.stack import sharing
from ops.stack.faults import StackError, StartInterrupted
from ops.stack.interrupts import Interrupts
from schemas.errors import OutriderError

CONNECTIONS = 8
_MAKE_ONE = "make a token: outrider token create NAME --project local --agent cli, and set OUTRIDER_TOKEN to it"


def gateway(
    *,
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve one client over stdin and stdout.")] = False,
    token: Annotated[
        str | None, typer.Option(help="An agent's token, for --stdio. OUTRIDER_TOKEN hides it from `ps`.")
    ] = None,
    aliases: Annotated[
        bool,
        typer.Option("--aliases", help="Over stdio: call the web tools `search` and `fetch`."),
    ] = False,
) -> None:
    """Serve the tools to agents over MCP. `outrider up` runs the HTTP one; this is for stdio, or for your own stores.

    Over stdio it uses the running stack, or starts one for as long as the client stays. Logs go to stderr.

    Example: OUTRIDER_TOKEN=outrider_... outrider gateway --stdio
    """
    settings = configuration.settings()
    if stdio:
        _serve_stdio(settings, token or (settings.token.get_secret_value() if settings.token else ""), aliases=aliases)
    else:
        _serve_http(settings)


def _serve_http(settings: Settings) -> None:
    found = sharing.find(settings)
    if found is None:
        say("nothing runs here: `outrider up` starts a stack with its gateway")
        leave(FAILED)
    configuration.install(found)
    from broker.gateway.__main__ import main  # noqa: PLC0415 - Celery's app reads the settings when it is imported

    leave(main())


def _serve_stdio(settings: Settings, secret: str, *, aliases: bool) -> None:
    if not secret:
        say(f"no token: {_MAKE_ONE}")
        leave(OURS)
    logs.configure()
    ended = False
    with Interrupts() as interrupts:
        try:
            with sharing.embedded_stack(settings, say=say, asked=interrupts.asked, hurry=interrupts.hurry) as serving:
                configuration.install(serving.settings)
                ended = _converse(serving.settings, secret, interrupts, aliases=aliases)
        except StartInterrupted:
            say("interrupted while starting")
            leave(OURS)
        except (StackError, OutriderError) as error:
            say(str(error))
            leave(OURS)
    if not ended:  # what waits is in the ledger; its threads would keep this process for minutes
        sys.stderr.flush()
        os._exit(0)


def _converse(settings: Settings, secret: str, interrupts: Interrupts, *, aliases: bool) -> bool:
    """Whether every call had ended when the client left."""
    from broker.gateway import offers, stdio  # noqa: PLC0415 - Celery's app reads the settings when it is imported

    ledger = ledger_engine(settings.require_database_url(), size=CONNECTIONS)
    try:
        known = offers.alias_offers() if aliases else offers.own_offers()
        return anyio.run(stdio.serve, ledger, secret, known, interrupts.asked)
    except stdio.TokenRefused:
        say(f"this token is unknown, expired, revoked, or no agent's: {_MAKE_ONE}")
        leave(OURS)
    finally:
        ledger.dispose()
