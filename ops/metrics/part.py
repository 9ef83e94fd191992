"""The exporter as a part of a stack: how it is run, and where Prometheus finds it."""

import signal
import sys
from collections.abc import Mapping

from ops.stack.child import HOUSE, Part
from ops.stack.home import Home


def part(home: Home, environment: Mapping[str, str], port: int) -> Part:
    """How a stack runs it."""
    return Part(
        name="metrics",
        argv=(sys.executable, "-m", "ops", "metrics", f"--port={port}"),
        folder=HOUSE,
        log=home.logs / "metrics.log",
        tier=2,
        environment=environment,
        stops=((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0)),  # it holds nothing that is worth waiting for
        hurried_stops=((signal.SIGKILL, 5.0),),
    )


def url(port: int) -> str:
    """Where Prometheus finds it."""
    return f"http://127.0.0.1:{port}/metrics"
