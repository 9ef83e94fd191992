"""Tokens and settings from the command line alone, over a running server's ledger."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from broker.ledger.audit import read_audit
from broker.ledger.engine import Ledger
from tests.ops.running import outrider


@pytest.fixture
def command(ledger: Ledger, ledger_url: str, tmp_path: Path):
    """`outrider WORDS` over this ledger; the ledger is there already, so no stack is started."""
    urls = {"OUTRIDER_DATABASE_URL": ledger_url, "OUTRIDER_BROKER_URL": "redis://127.0.0.1:1/0"}
    return lambda *words: outrider(*words, home=tmp_path, **urls)


def test_search_is_enabled_for_designer_from_nothing(command) -> None:
    """M131, M136: the command line alone; and what the agent gets is told."""
    assert "designer: neither tool" in command("project", "show", "X").stdout
    saved = command("project", "set", "X", "--enabled", "--agents", "designer", "--json")
    assert json.loads(saved.stdout)["tools"] == {"designer": ["web_search"]}
    command("project", "tools", "X", "designer", "--only", "")
    shown = command("project", "show", "X")
    assert "designer: neither tool; its own list: empty" in shown.stdout
    again = command("project", "tools", "X", "designer", "--json")
    assert json.loads(again.stdout)["tools"] == {"designer": ["web_search"]}


def test_token_is_shown_once_listed_without_its_secret_and_revoked(command, ledger: Ledger) -> None:
    made = command("token", "create", "alice", "--project", "X", "--expires", "2h")
    assert "fleet.view" not in made.stderr
    secret = made.stdout.strip()
    assert (made.returncode, secret[:9], len(secret)) == (0, "outrider_", 52)
    listed = command("token", "list", "--json")
    assert secret not in listed.stdout
    [one] = json.loads(listed.stdout)
    assert (one["name"], one["project"], one["state"]) == ("alice", "X", "living")
    lives = datetime.fromisoformat(one["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=1, minutes=50) < lives <= timedelta(hours=2)
    assert command("token", "revoke", one["id"]).returncode == 0
    assert command("token", "revoke", one["id"]).returncode == 3
    assert " revoked " in command("token", "list").stdout
    revoked, created = read_audit(ledger, "X")
    assert (created.action, revoked.action) == ("token.create", "token.revoke")
    assert created.actor.startswith("cli:")


def test_token_of_one_project_cannot_be_asked_to_watch_the_fleet(command, ledger: Ledger) -> None:
    """The operations page names every project; without --project a token may watch unless told otherwise."""
    refused = command("token", "create", "bob", "--project", "X", "--permission", "fleet.view")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "fleet.view" in refused.stderr
    assert json.loads(command("token", "list", "--json").stdout) == []
    whole = json.loads(command("token", "create", "carol", "--json").stdout)
    assert whole["permissions"] == ["project.web-search.manage", "fleet.view"]
