"""Fixtures that every floor may use."""

import signal

pytest_plugins = ["tests.fixtures_lab", "tests.fixtures_postgres"]


def pytest_configure() -> None:
    """Hear SIGINT, also where this run was started in the background, which ignores it; children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
