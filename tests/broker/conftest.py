"""Fixtures of the broker's floor."""

import pytest
from sqlalchemy import Engine

from broker.ledger.projects import Project, save_project


@pytest.fixture
def open_ledger(ledger: Engine) -> Engine:
    """A ledger with a project `p` that has everything switched on for agent `a`."""
    save_project(ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    return ledger
