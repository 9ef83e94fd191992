"""Printing: results alone on stdout, everything else on stderr, and nothing that could speak to the terminal itself."""

import json
import os
import sys
from typing import Any, NoReturn

import typer

OK = 0
OURS = 1
REFUSED = 2
FAILED = 3
UNKNOWN = 4

_EXITS = {"completed": OK, "refused": REFUSED, "failed": FAILED, "unknown": UNKNOWN, "cancelled": UNKNOWN}
# A page may carry escape sequences, and marks that turn the reading direction of what follows.
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SILENT = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0), *_TURNING} - {0x09, 0x0A})


def exit_code(envelope: dict[str, Any]) -> int:
    """What the shell is told: 0 completed, 2 refused, 3 failed, 4 unknown or cancelled, 1 our own fault."""
    error = envelope.get("error")
    if error is not None and error["code"] == "internal":
        return OURS
    return _EXITS[envelope["outcome"]]


def say(line: str) -> None:
    """A line for the person at the terminal."""
    print(plain(line), file=sys.stderr, flush=True)


def give(text: str) -> None:
    """The result itself, as UTF-8 whatever the locale; a reader that went away is no error."""
    if sys.stdout.isatty():
        text = plain(text)
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.write(b"" if text.endswith("\n") else b"\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain once more when it closes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def give_json(value: Any) -> None:
    """One JSON document on stdout."""
    give(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def plain(text: str) -> str:
    """The text without control characters."""
    return text.translate(_SILENT)


def leave(code: int) -> NoReturn:
    """End the command with this exit code. Raises: typer.Exit."""
    raise typer.Exit(code)
