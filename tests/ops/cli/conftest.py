import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.running import Command, command


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="outrider-") as folder:
        yield Path(folder) / "home"


@pytest.fixture(scope="module")
def fleet_home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="outrider-") as folder:
        yield Path(folder) / "home"


@pytest.fixture(scope="module")
def fleet(fleet_home: Path) -> Iterator[Command]:
    """A running `outrider up` that the tests of a module share."""
    with command("ops", "up", home=fleet_home) as running:
        running.wait_for("Ctrl-C drains", seconds=90)
        yield running
        running.end()


@pytest.fixture
def silent_dns() -> Iterator[str]:
    """The address of a nameserver that takes every question and answers none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind(("127.53.0.1", 53))
        except PermissionError:
            pytest.skip("port 53 is for root alone here")
        yield "127.53.0.1"
