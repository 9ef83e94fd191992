"""`python -m ops.admin`: the admin server on loopback, in the foreground."""

import sys

import uvicorn

from broker import logs
from broker.ledger.engine import ledger_engine
from broker.settings import StackMissing, settings
from ops.admin.app import make_app
from ops.admin.desk import Desk

CONNECTIONS = 8  # a page is a handful of short reads, one after the other


def main() -> int:
    """Serve until SIGTERM or SIGINT. Gives the exit status."""
    logs.configure()
    found = settings()
    try:
        ledger = ledger_engine(found.require_database_url(), size=CONNECTIONS)
    except StackMissing as error:
        print(error, file=sys.stderr)
        return 1
    config = uvicorn.Config(
        make_app(Desk(ledger=ledger, settings=found)),
        host="127.0.0.1",
        port=found.admin_port,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whoever wrote such a header could choose the address that is slowed
        server_header=False,
        limit_concurrency=100,
        timeout_graceful_shutdown=3,
    )
    try:
        uvicorn.Server(config).run()
    finally:
        ledger.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
