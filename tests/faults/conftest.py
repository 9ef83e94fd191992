"""Faults are made inside the private internet; what judges them can be tested anywhere."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from pytest_celery import CeleryBackendCluster, CeleryBrokerCluster, CeleryWorkerCluster

from ops.lab.control import LabControl
from tests.faults.nodes import Nodes, nodes_of
from tests.faults.stores import Stores, running_stores
from tests.faults.sweeping import Sweep, sweeping
from tests.faults.table import Row, write
from tests.faults.terms import LEASE_SECONDS
from tests.fixtures_lab import needs_the_lab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Outside a lab what needs one is skipped by name."""
    for item in items:
        if Path(__file__).parent in item.path.parents and "whole_lab" in getattr(item, "fixturenames", ()):
            needs_the_lab(item, "faults", "fault", "lab")


@pytest.fixture(scope="session")
def table() -> Iterator[dict[str, list[Row]]]:
    """The sections of the table; written to the file that OUTRIDER_FAULT_TABLE names, if it names one."""
    sections: dict[str, list[Row]] = {}
    yield sections
    if path := os.environ.get("OUTRIDER_FAULT_TABLE"):
        write(Path(path), LEASE_SECONDS, sections)


@pytest.fixture(scope="module")
def stores(whole_lab: LabControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Stores for all rows of a file: each row leaves them whole."""
    assert whole_lab.folder.is_dir()
    with running_stores(tmp_path_factory.mktemp("stores")) as running:
        yield running


@pytest.fixture(scope="module")
def sweep(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweep]:
    """A lane on these stores, with one worker after the other."""
    with sweeping(stores, tmp_path_factory.mktemp("matrix"), 1) as running:
        yield running


@pytest.fixture
def nodes(sweep: Sweep) -> Nodes:
    """The lane's worker and the stores under it."""
    return nodes_of(sweep.stores, sweep.lanes[0])


@pytest.fixture
def celery_broker_cluster(nodes: Nodes) -> CeleryBrokerCluster:
    """pytest-celery's own is a Docker container. Likewise the three below."""
    return CeleryBrokerCluster(nodes.broker)


@pytest.fixture
def celery_backend_cluster(nodes: Nodes) -> CeleryBackendCluster:
    return CeleryBackendCluster(nodes.results)


@pytest.fixture
def celery_worker_cluster(nodes: Nodes) -> CeleryWorkerCluster:
    return CeleryWorkerCluster(nodes.worker)


@pytest.fixture
def celery_setup_app(nodes: Nodes) -> Celery:
    """The product's app: the sweep has pointed it at these stores."""
    return nodes.worker.app
