"""A lab held open for as long as a `with` lasts, and processes started inside it: what tests and demos stand on."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from ops.lab.control import LabControl
from ops.lab.errors import LabUnavailable

HERE = Path(__file__).resolve().parents[2]
# Says where the lab is, then lives until our end of the pipe closes, also when we are killed.
HOLD = ("sh", "-c", 'echo "$OUTRIDER_LAB"; exec cat')


class LabSession:
    """An open lab. Leaving the `with` ends every process in it."""

    def __init__(self, *options: str, python: Sequence[str] = (sys.executable,)) -> None:
        """`python` are the words that start an interpreter, perhaps as another user."""
        self._python = tuple(python)
        self._argv = [*python, "-m", "ops.lab", *options, *HOLD]
        self.folder = Path()
        self.control = LabControl(self.folder)
        self._lab: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._lab = subprocess.Popen(
            self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE, start_new_session=True
        )
        said = self._lab.stdout.readline().strip() if self._lab.stdout else ""
        if not said:
            self.close()
            raise LabUnavailable("the lab did not open; it says why on stderr")
        self.folder = Path(said)
        self.control = LabControl(self.folder)
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        """End the lab and wait until it is gone."""
        if self._lab is not None:
            self._lab.communicate(timeout=30)
            self._lab = None

    def argv(self, *command: str) -> list[str]:
        """The words that start `command` inside; the process they start becomes `command`, with the same pid."""
        return [*self._python, "-m", "ops.lab", "--join", str(self.folder), "--", *command]

    def start(self, *command: str, **options: Any) -> "subprocess.Popen[Any]":
        """Popen inside the lab."""
        return subprocess.Popen(self.argv(*command), **{"cwd": HERE, **options})

    def run(self, *command: str, seconds: float = 60.0, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run to the end inside the lab, with its output captured as text."""
        settings = {"cwd": HERE, "capture_output": True, "text": True, "timeout": seconds, **options}
        return subprocess.run(self.argv(*command), check=False, **settings)
