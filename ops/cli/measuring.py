"""`outrider metrics`: what Prometheus scrapes, where no `outrider up` runs it."""

from typing import Annotated

import typer

from broker import settings as configuration
from ops.cli.printing import FAILED, OURS, leave, say
from ops.stack import sharing
from ops.stack.interrupts import Interrupts


def metrics(
    port: Annotated[
        int | None, typer.Option(help="Where to listen; default: OUTRIDER_METRICS_PORT.", min=0, max=65535)
    ] = None,
    address: Annotated[
        str, typer.Option(help="The address to listen at. There is no password: let Prometheus alone reach it.")
    ] = "127.0.0.1",
) -> None:
    """Serve the metrics of the ledger and the broker for Prometheus, at /metrics, until Ctrl-C.

    `outrider up` runs one of its own. With stores of your own, run one for all workers; two tell the same.

    Example: outrider metrics --port 9464
    """
    settings = configuration.settings()
    found = sharing.find(settings)
    if found is None:
        say(f"nothing runs at {settings.home}: start it with `outrider up`")
        leave(FAILED)
    from broker import logs  # noqa: PLC0415 - as below
    from ops.metrics.exporter import exporter  # noqa: PLC0415 - Celery and the ledger, for this command alone

    logs.configure()
    wanted = settings.metrics_port if port is None else port
    with Interrupts() as interrupts:
        try:
            with exporter(found, port=wanted, address=address) as taken:
                say(f"metrics at http://{address}:{taken}/metrics")
                while not interrupts.wait():
                    pass
        except OSError as error:
            say(f"cannot listen at {address}:{wanted}: {error.strerror}")
            leave(OURS)
