import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.settings import Settings
from ops.stack import life
from ops.stack.life import Plan, Stack
from tests.ops.running import Command, command


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path of its own: pytest's are too long for sockets, which has a test of its own."""
    with tempfile.TemporaryDirectory(prefix="outrider-") as folder:
        yield Path(folder) / "home"


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home, database_url=None, broker_url=None, result_url=None)


@pytest.fixture(scope="module")
def stores() -> Iterator[Stack]:
    """Stores that the tests of a module share: for looking at, not for breaking."""
    with tempfile.TemporaryDirectory(prefix="outrider-") as folder:
        settings = Settings(home=Path(folder) / "home", database_url=None, broker_url=None, result_url=None)
        with life.run(Plan(settings=settings)) as stack:
            yield stack


@pytest.fixture
def owner(home: Path) -> Iterator[Command]:
    """The stores of this home in another process."""
    with command("ops.stack", home=home) as running:
        running.wait_for("OUTRIDER_RESULT_URL")
        yield running
