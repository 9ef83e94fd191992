"""A second way into a lab that is already running, for another terminal or a test's many processes."""

from collections.abc import Sequence
from pathlib import Path

from ops.lab import namespace
from ops.lab.command import environment, execute
from ops.lab.errors import LabUnavailable


def run(folder: Path, command: Sequence[str]) -> int:
    """Become COMMAND inside the lab of `folder`; comes back only with the status that says why not.

    Raises: LabUnavailable.
    """
    try:
        supervisor = int((folder / "supervisor").read_text())
    except (OSError, ValueError) as problem:
        raise LabUnavailable(f"no lab is running in {folder}") from problem
    namespace.join(supervisor)
    return execute(command, environment(folder))
