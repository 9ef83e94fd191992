"""The table of commands, and the one place where a command's end becomes an exit code."""

import typer
from typer.main import get_command

from broker.logs import where
from broker.settings import SettingsUnfit, StackMissing
from ops.cli import (
    calls,
    checking,
    extracting,
    gateway,
    granting,
    keeping,
    measuring,
    private,
    proving,
    serving,
    state,
    truth,
)
from ops.cli.printing import OURS, UNKNOWN, say
from ops.stack.interrupts import Interrupts
from schemas.errors import OutriderError

_HELP = (
    "Outrider rides out to the public web for AI agents and comes back with a receipt.\n\n"
    "Exit codes: 0 completed, 2 refused (nothing left this machine), 3 failed, "
    "4 unknown, cancelled or interrupted, 1 our own fault or a wrong use of the command line."
)
app = typer.Typer(no_args_is_help=True, add_completion=False, help=_HELP, pretty_exceptions_enable=False)
app.command()(calls.fetch)
app.command()(calls.search)
app.command()(calls.call)
app.command()(extracting.extract)
app.command()(serving.up)
app.command()(serving.drain)
app.command()(gateway.gateway)
app.command()(state.status)
app.command()(measuring.metrics)
app.command()(checking.doctor)
app.command()(keeping.migrate)
keeping.receipt.command("verify")(proving.verify_receipts)
keeping.receipt.command("export")(proving.export_receipts)
app.add_typer(keeping.project, name="project")
app.add_typer(keeping.receipt, name="receipt")
app.add_typer(granting.token, name="token")
app.add_typer(truth.truth, name="truth")
app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})(private.lab)


# These own processes: they look at the signals themselves, and end what they began.
_OWNERS = ("fetch", "search", "call", "extract", "up", "gateway", "metrics")


def run(words: list[str]) -> int:
    """The exit code of the command that these words are."""
    try:
        with Interrupts(raises=next(iter(words), "") not in _OWNERS) as interrupts:
            interrupts.check()
            ended = get_command(app).main(args=words, prog_name="outrider", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        say(f"{error.format_message()}\n" + (f"Try: {context.command_path} --help" if context else ""))
        return OURS
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return UNKNOWN
    except Exception as error:  # noqa: BLE001 - the last wall: a traceback helps nobody at a terminal, and may hold values
        say(_in_a_sentence(error))
        return OURS
    return ended if isinstance(ended, int) else 0


# What a server that is away raises, by the library that speaks to it.
_AWAY = {
    "kombu": "The message broker does not answer.",
    "amqp": "The message broker does not answer.",
    "redis": "The broker or the result store does not answer.",
    "sqlalchemy": "The ledger's database does not answer, or refuses us.",
    "psycopg2": "The ledger's database does not answer, or refuses us.",
}


def _in_a_sentence(error: Exception) -> str:
    """What ended a command, and what to do next."""
    if isinstance(error, SettingsUnfit):
        return f"The settings cannot be used: {error}."
    if isinstance(error, StackMissing):
        return str(error)
    if isinstance(error, OutriderError):
        return f"{error.message} {error.hint}"
    away = _AWAY.get(type(error).__module__.partition(".")[0])
    if away is not None:
        return f"{away} `outrider doctor` says which store it is, and what to do."
    return f"A fault of ours: {type(error).__name__} at {where(error.__traceback__)}."
