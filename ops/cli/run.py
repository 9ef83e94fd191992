"""The table of commands, and the one place where a command's end becomes an exit code."""

import typer
from typer.main import get_command

from ops.cli import calls, checking, keeping, private, serving, state
from ops.cli.printing import OURS, UNKNOWN, say

_HELP = (
    "Outrider rides out to the public web for AI agents and comes back with a receipt.\n\n"
    "Exit codes: 0 completed, 2 refused (nothing left this machine), 3 failed, 4 unknown or cancelled, "
    "1 our own fault or a wrong use of the command line."
)
app = typer.Typer(no_args_is_help=True, add_completion=False, help=_HELP, pretty_exceptions_enable=False)
app.command()(calls.fetch)
app.command()(calls.call)
app.command()(serving.up)
app.command()(serving.drain)
app.command()(state.status)
app.command()(checking.doctor)
app.command()(keeping.migrate)
app.add_typer(keeping.project, name="project")
app.add_typer(keeping.receipt, name="receipt")
app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})(private.lab)


def run(words: list[str]) -> int:
    """The exit code of the command that these words are."""
    try:
        ended = get_command(app).main(args=words, prog_name="outrider", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        say(f"{error.format_message()}\n" + (f"Try: {context.command_path} --help" if context else ""))
        return OURS
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return UNKNOWN
    return ended if isinstance(ended, int) else 0
