"""The written pages: short enough to be read, and what they name is there (M162)."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
README = (HOME / "README.md").read_text(encoding="utf-8")
PAGES = sorted([HOME / "README.md", *(HOME / "ops").glob("*.md")])
NAMED = re.compile(r"`((?:schemas|broker|workers|tests|ops)/[\w./-]*)`")


def test_readme_can_be_read_at_one_sitting():
    """Issue 2: 150 lines are the aim, 160 the wall; what is longer has a page under ops."""
    assert README.count("\n") <= 160


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_and_folders_that_a_page_names_are_there(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not (HOME / path).exists()] == []


@pytest.mark.parametrize(
    "disclosed",
    [
        pytest.param("queries go to DuckDuckGo", id="M162-queries"),
        pytest.param("workers' outbound IP are visible to the sites", id="M162-address"),
        pytest.param("model tokens for results stay billable", id="M162-cost"),
        pytest.param("cannot recognise every secret", id="M162-secrets"),
    ],
)
def test_disclosures_are_made_before_anybody_runs_it(disclosed):
    assert disclosed in " ".join(README.split())
