"""GET and PUT of a project's web settings, through a running server."""

import re

import pytest

from broker.ledger.audit import read_audit
from broker.ledger.tokens import list_tokens, revoke_token
from schemas.grants import FLEET, MANAGE, RUNS
from tests.ledger_calls import run_sql, wait_until

FRESH = {"data": {"enabled": False, "fetchEnabled": False, "agents": ["designer"]}}
PATH = "research/web-search"


def test_fresh_project_is_off_with_designer_preselected(admin, manager):
    """M131, M134: the three fields inside the envelope, and no row for having looked."""
    answer = admin.api("GET", PATH, manager)
    assert (answer.status_code, answer.json(), answer.headers["ETag"]) == (200, FRESH, '"0"')


def test_saved_settings_are_read_back(admin, manager):
    """M134: PUT takes the three fields and gives them back."""
    wanted = {"enabled": True, "fetchEnabled": True, "agents": ["planner", "designer", "planner"]}
    saved = admin.api("PUT", PATH, manager, json=wanted)
    assert saved.status_code == 200
    assert saved.json() == {"data": {"enabled": True, "fetchEnabled": True, "agents": ["planner", "designer"]}}
    assert admin.api("GET", PATH, manager).json() == saved.json()


def test_older_client_that_knows_no_fetch_saves_it_as_off(admin, manager):
    """M135: true before, omitted now: false."""
    admin.api("PUT", PATH, manager, json={"enabled": True, "fetchEnabled": True, "agents": ["designer"]})
    saved = admin.api("PUT", PATH, manager, json={"enabled": True, "agents": ["designer"]})
    assert saved.json()["data"]["fetchEnabled"] is False
    assert admin.api("GET", PATH, manager).json() == saved.json()


def test_every_save_is_a_generation_on_also_an_equal_one(admin, manager):
    """M139: the counter that invalidates what is under way."""
    body = {"enabled": True, "fetchEnabled": False, "agents": []}
    tags = [admin.api("PUT", PATH, manager, json=body).headers["ETag"] for _ in range(3)]
    assert tags == ['"1"', '"2"', '"3"']


@pytest.mark.parametrize(("tag", "status"), [('"1"', 412), ('"2"', 200), ('"3"', 412), ('"0"', 412)])
def test_save_is_refused_when_the_settings_were_overtaken(admin, manager, tag, status):
    """If-Match: below, at and above what holds now; without it a save is a save."""
    body = {"enabled": True, "agents": []}
    for _ in range(2):
        admin.api("PUT", PATH, manager, json=body)
    answer = admin.api("PUT", PATH, manager, json=body, headers={"If-Match": tag})
    assert answer.status_code == status
    assert admin.api("GET", PATH, manager).headers["ETag"] == ('"3"' if status == 200 else '"2"')


def test_tag_of_another_time_makes_no_project(admin, manager, ledger):
    answer = admin.api("PUT", PATH, manager, json={"enabled": True, "agents": []}, headers={"If-Match": '"7"'})
    assert (answer.status_code, answer.json()["error"]["code"]) == (412, "settings_overtaken")
    assert run_sql(ledger, "TABLE projects") == []


@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Bearer ", "Basic YTpi", "nonsense"])
def test_asking_without_a_valid_token_is_401(admin, header):
    headers = {"Authorization": header} if header else {}
    answer = admin.api("GET", PATH, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_token_ends_with_its_time_and_with_its_revocation(admin, make_token, ledger):
    short, long = make_token(MANAGE, seconds=0.3), make_token(MANAGE)
    wait_until(lambda: admin.api("GET", PATH, short).status_code == 401)
    assert admin.api("GET", PATH, long).status_code == 200
    revoke_token(ledger, list_tokens(ledger)[1].id, actor="tests")
    assert admin.api("GET", PATH, long).status_code == 401


@pytest.mark.parametrize(
    ("permissions", "project"),
    [
        pytest.param((FLEET,), None, id="another-permission"),
        pytest.param((RUNS,), "research", id="an-orchestrator-s"),
        pytest.param((MANAGE,), "other", id="another-project-s"),
    ],
)
def test_token_without_the_permission_learns_nothing_of_a_project(admin, make_token, manager, permissions, project):
    """M133: 403 to read and to save; a project that is there is answered as one that is not, byte for byte."""
    admin.api("PUT", PATH, manager, json={"enabled": True, "agents": ["secret-agent"]})
    token, body = make_token(*permissions, project=project), {"enabled": True, "agents": []}
    there = [admin.api("GET", PATH, token), admin.api("PUT", PATH, token, json=body)]
    absent = [admin.api("GET", "nowhere/web-search", token), admin.api("PUT", "nowhere/web-search", token, json=body)]
    assert {answer.status_code for answer in (*there, *absent)} == {403}
    assert {answer.content for answer in (*there, *absent)} == {there[0].content}
    assert there[0].json()["error"]["code"] == "permission_required"
    assert admin.api("GET", PATH, manager).headers["ETag"] == '"1"'


def test_token_of_one_project_manages_that_one(admin, make_token):
    token = make_token(MANAGE, project="research")
    assert admin.api("PUT", PATH, token, json={"enabled": True, "agents": []}).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"agents": []}, "body.enabled", id="enabled-missing"),
        pytest.param({"enabled": True}, "body.agents", id="agents-missing"),
        pytest.param({"enabled": "yes", "agents": []}, "body.enabled", id="enabled-no-boolean"),
        pytest.param({"enabled": True, "agents": ["a b"]}, "body.agents.0", id="agent-no-id"),
        pytest.param({"enabled": True, "agents": [], "query": "x"}, "body.query", id="unknown-field"),
        pytest.param({"enabled": True, "agents": [f"a{n}" for n in range(201)]}, "body.agents", id="201-agents"),
        pytest.param([], "body", id="no-object"),
    ],
)
def test_wrong_body_is_told_by_its_field(admin, manager, body, field):
    answer = admin.api("PUT", PATH, manager, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_arguments")
    assert answer.json()["error"]["facts"]["field"] == field


@pytest.mark.parametrize("count", [199, 200])
def test_two_hundred_agents_are_taken(admin, manager, count):
    body = {"enabled": True, "agents": [f"{n:03}{'a' * 125}" for n in range(count)]}
    assert admin.api("PUT", PATH, manager, json=body).status_code == 200


def test_body_over_its_limit_is_413(admin, manager):
    """64 KiB: at, over by one, and over without saying so beforehand."""
    short = b'{"enabled": true, "agents": []'
    at = short + b" " * (65_536 - len(short) - 1) + b"}"
    sent = {"headers": {"Content-Type": "application/json"}}
    assert admin.api("PUT", PATH, manager, data=at, **sent).status_code == 200
    assert admin.api("PUT", PATH, manager, data=b" " + at, **sent).status_code == 413
    assert admin.api("PUT", PATH, manager, data=iter([b" ", at]), **sent).status_code == 413


def test_audit_says_who_when_and_what_and_nothing_else(admin, manager, ledger):
    """M141: the token's id and name, settings before and after; never the token, never a query."""
    admin.api("PUT", PATH, manager, json={"enabled": True, "agents": ["designer"]})
    admin.api("PUT", PATH, manager, json={"enabled": False, "fetchEnabled": True, "agents": []})
    newest, oldest = read_audit(ledger, "research")
    [token] = list_tokens(ledger)
    assert newest.actor == oldest.actor == f"token:{token.id}:alice"
    assert newest.at > oldest.at
    assert newest.facts == {
        "generation": 2,
        "enabled": False,
        "enabled_before": True,
        "fetch_enabled": True,
        "fetch_enabled_before": False,
        "agents": [],
        "agents_before": ["designer"],
    }


def test_no_secret_of_a_token_is_kept(admin, manager, ledger):
    assert re.fullmatch(r"outrider_[A-Za-z0-9_-]{43}", manager)
    everything = str([run_sql(ledger, f"TABLE {name}") for name in ("tokens", "audit", "visits")])
    assert manager not in everything
    assert manager.removeprefix("outrider_") not in everything


@pytest.mark.parametrize("path", ["/api/admin/openapi.json", "/admin/login", "/api/nowhere", "/static/admin.css"])
def test_every_answer_forbids_scripts_frames_and_caches(admin, path):
    headers = admin.ask("GET", path).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "server" not in headers


def test_foreign_host_gets_nothing(admin, manager):
    """A name that was pointed at loopback (DNS rebinding)."""
    assert admin.api("GET", PATH, manager, headers={"Host": "evil.example"}).status_code == 400
