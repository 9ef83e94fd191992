"""Alerts and their runbooks: each alert has its page, each page its alert, and every command of a page exists."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from typer.main import get_command

from ops.cli.run import app

HOUSE = Path(__file__).resolve().parents[3]
RULES = HOUSE / "ops" / "alerts" / "outrider.yml"
PAGES = sorted((HOUSE / "ops" / "runbooks").glob("*.md"))
PROCEDURES = sorted((HOUSE / "ops" / "runbooks" / "procedures").glob("*.md"))  # what is done without an alert
COMMAND = re.compile(r"`(outrider [^`]*)`")


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_says_what_is_wrong_and_where_its_runbook_is(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"page", "ticket"}
    assert alert["annotations"]["summary"].endswith(".")
    page = HOUSE / alert["annotations"]["runbook"]
    assert page.read_text().splitlines()[0] == f"# {alert['alert']}"


def test_every_runbook_belongs_to_one_alert() -> None:
    assert sorted(alert["annotations"]["runbook"] for alert in alerts()) == [
        str(page.relative_to(HOUSE)) for page in PAGES
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_runbook_tells_what_to_check_before_what_to_do(page: Path) -> None:
    text = page.read_text()
    assert text.index("\n## Check\n") < text.index("\n## Do\n")


@pytest.mark.parametrize("page", [*PAGES, *PROCEDURES], ids=lambda page: page.stem)
def test_commands_and_pages_that_a_runbook_names_exist(page: Path) -> None:
    text = page.read_text()
    for name in re.findall(r"\]\(([^)]+)\)", text):
        assert (page.parent / name).is_file()
    for line in COMMAND.findall(text):
        parse(shlex.split(line)[1:])
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120


def parse(words: list[str]) -> None:
    """Read the words as the command line does, without running them. Raises: what a wrong use raises."""
    group: Any = get_command(app)
    name, found, rest = group.resolve_command(click.Context(group), words)
    while isinstance(found, type(group)):
        name, found, rest = found.resolve_command(click.Context(found), rest)
    found.make_context(name, rest)


@pytest.mark.parametrize("wrong", ["nothing", "project forget ID", "project set ID --disabled", "receipt show"])
def test_commands_that_do_not_exist_would_be_found(wrong: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing"):
        parse(wrong.split())


@pytest.mark.parametrize(
    "words",
    [("check", "rules", "ops/alerts/outrider.yml"), ("test", "rules", "tests/ops/metrics/alerts_test.yml")],
    ids=["check", "test"],
)
def test_promtool_takes_the_rules_and_their_unit_tests(words: tuple[str, ...]) -> None:
    """Issue 4: each alert under and over its bound, by Prometheus's own evaluation."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: the package prometheus)")
    ended = subprocess.run(["promtool", *words], cwd=HOUSE, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "SUCCESS" in ended.stdout


def test_unit_tests_know_every_alert() -> None:
    """Each one is seen to be told, and seen to be silent."""
    cases = yaml.safe_load((HOUSE / "tests/ops/metrics/alerts_test.yml").read_text())["tests"]
    told = {True: set(), False: set()}
    for case in cases:
        for rule in case["alert_rule_test"]:
            told[bool(rule["exp_alerts"])].add(rule["alertname"])
    assert told[True] == {alert["alert"] for alert in alerts()}
