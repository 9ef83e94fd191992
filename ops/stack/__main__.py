"""`python -m ops.stack [HOME]`: the stores alone, in the foreground, for development and tests.

Prints the three URLs as shell exports on stdout once they answer, then runs until it is interrupted.
"""

import sys
from pathlib import Path

from broker.settings import settings
from ops.stack import life
from ops.stack.faults import StackError
from ops.stack.interrupts import Interrupts
from ops.stack.life import Plan


def main() -> int:
    """Run PostgreSQL and both Valkeys. Gives the exit status."""
    wanted = settings()
    if len(sys.argv) > 1:
        wanted = wanted.model_copy(update={"home": Path(sys.argv[1])})
    with Interrupts() as interrupts:
        try:
            with life.run(Plan(settings=wanted, say=_say, asked=interrupts.asked, hurry=interrupts.hurry)) as stack:
                for name in ("database_url", "broker_url", "result_url"):
                    print(f"export OUTRIDER_{name.upper()}='{getattr(stack.settings, name)}'", flush=True)
                while not interrupts.wait():
                    pass
        except StackError as error:
            _say(str(error))
            return 1
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
