"""The private internet around a test, and what becomes of tests that need one and have none."""

import os
import sys
from collections.abc import Iterator

import pytest

from ops.lab.control import LabControl

INSIDE = "OUTRIDER_LAB" in os.environ


def needs_the_lab(item: pytest.Item, what: str, *marks: str) -> None:
    """Mark a test; outside a lab it is skipped by name. `what` is its folder under tests."""
    for mark in marks:
        item.add_marker(mark)
    if not INSIDE:
        reason = f"{what} need the private internet ({sys.platform}): outrider lab pytest tests/{what}"
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def whole_lab() -> LabControl:
    """The lab around this process, for as long as the session."""
    return LabControl()


@pytest.fixture
def lab(whole_lab: LabControl) -> Iterator[LabControl]:
    """The lab, as its zone says; after each test no canary may have seen anything (X5)."""
    whole_lab.reset()
    yield whole_lab
    assert whole_lab.canaries() == []
