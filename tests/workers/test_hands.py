"""Hands: which search provider a deployment's settings put into them (M156)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
LOOK = "from workers.hands import hands; print(hands().search.name, hands().search.endpoint.href)"


def provider_of(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
    stores = {"OUTRIDER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "OUTRIDER_BROKER_URL": "redis://h/0"}
    return subprocess.run(
        [sys.executable, "-c", LOOK], cwd=HOUSE, env=clean | stores | environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "duckduckgo https://html.duckduckgo.com/html/"),
        ({"OUTRIDER_SEARXNG_URL": "https://searx.example/"}, "duckduckgo https://html.duckduckgo.com/html/"),
        (
            {"OUTRIDER_SEARCH_PROVIDER": "searxng", "OUTRIDER_SEARXNG_URL": "https://searx.example/"},
            "searxng https://searx.example/search",
        ),
    ],
    ids=["default", "named-but-not-chosen", "chosen"],
)
def test_provider_is_the_one_that_the_deployment_chose(environment: dict[str, str], said: str) -> None:
    """M97, M156: DuckDuckGo without any setting; another one only where it was chosen."""
    assert provider_of(**environment).stdout.strip() == said


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OUTRIDER_SEARCH_PROVIDER": "searxng"}, "needs OUTRIDER_SEARXNG_URL"),
        ({"OUTRIDER_SEARCH_PROVIDER": "searxng", "OUTRIDER_SEARXNG_URL": "http://10.0.0.1/"}, "is https://HOST/"),
        ({"OUTRIDER_SEARCH_PROVIDER": "searxng", "OUTRIDER_SEARXNG_URL": "https://10.0.0.1/"}, "blocked_address"),
        ({"OUTRIDER_SEARCH_PROVIDER": "google"}, "OUTRIDER_SEARCH_PROVIDER"),
    ],
    ids=["no-address", "not-https", "not-public", "unknown"],
)
def test_unfit_choice_is_told_at_the_start(environment: dict[str, str], said: str) -> None:
    ended = provider_of(**environment)
    assert ended.returncode != 0
    assert said in ended.stderr
