"""The command line: `outrider`, also `python -m ops`.

Exit codes: 0 completed, 2 refused, 3 failed, 4 unknown or cancelled, 1 our own fault and every wrong use of the command
line, so that a script never takes a mistyped option for a refusal.
"""

import sys

from ops.cli.run import run


def main() -> None:
    """Run the command of this process and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))
