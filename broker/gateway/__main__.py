"""`python -m broker.gateway`: the HTTP gateway on loopback, in the foreground."""

import os
import sys

from broker import logs
from broker.gateway import http
from broker.settings import StackMissing, settings


def main() -> int:
    """Serve until SIGTERM or SIGINT. Gives the exit status."""
    logs.configure()
    try:
        answered = http.serve(settings())
    except StackMissing as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's own word
        return 1
    if not answered:  # what waits is in the ledger; its threads would keep this process for minutes
        sys.stderr.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
