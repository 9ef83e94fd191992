"""Fixtures that every floor may use."""

pytest_plugins = ["tests.fixtures_postgres"]
