"""Progress: what a call is doing, as one changing line on a terminal and as plain lines elsewhere."""

import sys
from typing import Any, Self

from rich.console import Console
from rich.markup import escape

from ops.cli.printing import plain, say

_WORDS = {
    "starting": "starting the embedded stack",
    "joined": "using the running stack",
    "queued": "queued",
    "resolving": "resolving",
    "connecting": "connecting to",
    "receiving": "receiving from",
    "extracting": "extracting",
    "cancelling": "cancelling",
}


class Progress:
    """Tells each stage. Must be closed: it holds the terminal's last line."""

    def __init__(self) -> None:
        self._line = Console(stderr=True).status("") if sys.stderr.isatty() else None
        self._told = ""

    def __enter__(self) -> Self:
        if self._line is not None:
            self._line.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the terminal's last line back."""
        if self._line is not None:
            self._line.stop()

    def tell(self, stage: str, facts: dict[str, Any] | None = None) -> None:
        """The call is at this stage now."""
        words = sentence(stage, facts or {})
        if self._line is not None:
            self._line.update(escape(words))
        elif (stage, words.split(",")[0]) != (stage, self._told):  # bytes are counted on a terminal only
            self._told = words.split(",")[0]
            say(self._told)

    def say(self, line: str) -> None:
        """Something that stays."""
        if self._line is not None:
            self._line.console.print(escape(plain(line)), highlight=False)
        else:
            say(line)


def sentence(stage: str, facts: dict[str, Any]) -> str:
    """A stage in words: `receiving from example.com, 12,345 bytes`."""
    words = [_WORDS.get(stage, stage)]
    if host := facts.get("host"):
        words.append(str(host))
    counted = facts.get("bytes")
    return plain(" ".join(words)) + (f", {counted:,} bytes" if isinstance(counted, int) else "")
