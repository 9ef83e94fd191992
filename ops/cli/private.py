"""`outrider lab`: a command in the private internet."""

from importlib import import_module
from typing import Annotated

import typer

from ops.cli.printing import leave
from ops.stack import interrupts


def lab(words: Annotated[list[str] | None, typer.Argument(metavar="COMMAND...")] = None) -> None:
    """Run a command in a private internet of its own, with hostile sites and no uplink.

    Example: outrider lab outrider fetch https://good.example/
    """
    main = import_module("ops.lab").main  # the lab's libraries are an extra: asked for by this command alone
    interrupts.release()  # the lab passes them on to its command
    leave(int(main(words or []) or 0))
