"""Walks run inside the private internet: `make test` starts them there, `outrider lab pytest tests/walks` as well."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from celery import Celery

from ops.lab.control import LabControl
from tests.fixtures_lab import needs_the_lab
from tests.fleet import Fleet, running_fleet


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Outside a lab the walks are skipped by name; where they were asked for by name, that is no success."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            needs_the_lab(item, "walks", "walk")


@pytest.fixture(scope="session")
def fleet(whole_lab: LabControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One fleet for all walks of the session."""
    assert whole_lab.folder.is_dir()
    with running_fleet(tmp_path_factory.mktemp("fleet")) as running:
        yield running


@pytest.fixture
def canary() -> str:
    """A word that stands nowhere else."""
    return f"kanarie{uuid4().hex}"


@pytest.fixture
def foreigner(fleet: Fleet) -> Iterator[Celery]:
    """Somebody else's producer, which hides nothing."""
    app = Celery("foreign", broker=fleet.settings.broker_url, backend=fleet.settings.result_url)
    app.conf.update(task_serializer="json", task_routes={"*": {"queue": "fetch"}}, task_create_missing_queues=True)
    yield app
    app.close()
