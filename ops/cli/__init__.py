"""The command line: `outrider`, also `python -m ops`.

Exit codes: 0 completed, 2 refused, 3 failed, 4 unknown, cancelled or interrupted, 1 our own fault and every wrong use
of the command line, so that a script never takes a mistyped option for a refusal.
"""

import signal
import sys


def main() -> None:
    """Run the command of this process and leave with its exit code, however early or late it is interrupted."""
    # Held back until somebody listens: even the imports that listening needs take a while on a busy machine.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    from ops.stack.interrupts import Interrupts, ignore  # noqa: PLC0415 - as above

    Interrupts().listen()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    from ops.cli.run import run  # noqa: PLC0415 - takes seconds, in which a signal must already be heard

    try:
        code = run(sys.argv[1:])
    finally:
        ignore()
    sys.exit(code)
