"""The lab's diary: one line of JSON for each thing that came to pass, appended whole by every process."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """An append-only file. One write a line, so that lines of several processes never mix."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, kind: str, *, durable: bool = False, **facts: Any) -> None:
        """Append one line; `durable` returns only when it is on disk."""
        line = json.dumps({"at": round(time.time(), 6), "kind": kind, **facts}, ensure_ascii=False)
        os.write(self._file, line.encode() + b"\n")
        if durable:
            os.fsync(self._file)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every entry so far, oldest first."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
