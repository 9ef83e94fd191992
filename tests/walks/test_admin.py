"""Administration end to end: the admin server of `outrider up`, a worker, and a site that takes its time."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
import requests

from broker.ledger.operations import find_ended
from broker.ledger.tokens import Wanted, create_token
from ops.lab.control import LabControl
from schemas.grants import PERMISSIONS
from tests.fleet import Fleet, wait_until
from tests.stores import rows

START_SECONDS = 30
Ask = Callable[..., requests.Response]


@pytest.fixture
def token(fleet: Fleet) -> str:
    wanted = Wanted(name="walker", permissions=PERMISSIONS, project=None, seconds=3600)
    return create_token(fleet.ledger, wanted, actor="tests")[1]


@pytest.fixture
def site(fleet: Fleet) -> str:
    """Where the admin server is, once it listens."""
    url = str(fleet.state.admin_url).removesuffix("/admin/")
    wait_until(lambda: answers(url), seconds=START_SECONDS, what="the admin server")
    return url


def answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/admin/login", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture
def ask(site: str, token: str) -> Iterator[Ask]:
    """The API, with every permission."""
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {token}"
        yield lambda method, path, **more: session.request(
            method, f"{site}/api/admin/projects/{path}", timeout=30, **more
        )


@pytest.mark.parametrize(
    "saves",
    [
        pytest.param([{"enabled": False, "agents": ["cli"]}], id="M138-revoked"),
        pytest.param(
            [{"enabled": False, "agents": ["cli"]}, {"enabled": True, "fetchEnabled": True, "agents": ["cli"]}],
            id="M139-enabled-again-before-it-ends",
        ),
        pytest.param([{"enabled": True, "fetchEnabled": True, "agents": ["cli"]}], id="M139-saved-unchanged"),
    ],
)
def test_save_during_a_fetch_makes_its_reply_settings_changed(
    fleet: Fleet, lab: LabControl, ask: Ask, saves: list[dict]
) -> None:
    """M138, M139: the page had come in full; its text is not given, and the receipt says what was sent."""
    name = uuid4().hex[:8]
    context = fleet.context(project=fleet.project())
    handle = fleet.send(f"https://counted.example/hold/{name}", context=context)
    assert len(lab.await_requests(f"/hold/{name}", seconds=START_SECONDS)) == 1
    for body in saves:
        assert ask("PUT", f"{context['project']}/web-search", json=body).status_code == 200
    lab.release(name)
    envelope = fleet.reply(handle)
    assert (envelope["outcome"], envelope["error"]["code"], envelope["value"]) == ("failed", "settings_changed", None)
    assert envelope["receipt"]["sent"] == "sent"
    after = fleet.fetch("https://text.example/", context=context | {"step": "next"})
    assert after["outcome"] == ("completed" if saves[-1]["enabled"] else "refused")


def test_what_was_returned_before_a_save_stays(fleet: Fleet, lab: LabControl, ask: Ask) -> None:
    """M140: a reply that was given is its caller's, also when it is read after the project was closed."""
    context = fleet.context(project=fleet.project(), call=f"kept-{uuid4().hex[:8]}")
    handle = fleet.send("https://text.example/", context=context)
    wait_until(lambda: find_ended(fleet.ledger, context["project"], context["call"]), seconds=START_SECONDS)
    assert ask("PUT", f"{context['project']}/web-search", json={"enabled": False, "agents": []}).status_code == 200
    envelope = fleet.reply(handle)
    assert (envelope["outcome"], bool(envelope["value"]["content"])) == ("completed", True)
    assert find_ended(fleet.ledger, context["project"], context["call"]).state == "completed"
    assert sum(lab.hits("text.example").values()) == 1


def test_nothing_is_loaded_that_no_agent_asked_for(fleet: Fleet, lab: LabControl, ask: Ask) -> None:
    """M82: enabling a project and beginning an execution searches nothing, fetches nothing, and asks no DNS."""
    project = f"p-{uuid4().hex[:8]}"
    ask("PUT", f"{project}/web-search", json={"enabled": True, "fetchEnabled": True, "agents": ["cli"]})
    given = ask("PUT", f"{project}/runs/r/steps/s/agents/cli/execution").json()["data"]
    assert set(given["tools"]) == {"web_search", "web_fetch"}
    assert rows(fleet, "SELECT FROM operations WHERE project = %s", project) == []
    assert (lab.queries(), lab.requests(), sum(lab.hits().values())) == ([], [], 0)


def test_new_project_is_opened_over_the_api_and_served(fleet: Fleet, lab: LabControl, ask: Ask) -> None:
    """M131-M137: from nothing, through the API alone, to a page that an agent reads, and back to an empty tool list."""
    project = f"p-{uuid4().hex[:8]}"
    context = fleet.context(project=project, agent="designer")
    assert fleet.fetch("https://text.example/", context=context)["error"]["code"] == "capability_disabled"
    ask("PUT", f"{project}/web-search", json={"enabled": True, "agents": ["designer"]})
    assert fleet.fetch("https://text.example/", context=context)["error"]["code"] == "capability_disabled"
    ask("PUT", f"{project}/web-search", json={"enabled": True, "fetchEnabled": True, "agents": ["designer"]})
    assert fleet.fetch("https://text.example/", context=context)["outcome"] == "completed"
    other = fleet.fetch("https://text.example/", context=context | {"agent": "new"})
    assert other["error"]["code"] == "agent_not_permitted"
    ask("PUT", f"{project}/agents/designer/tools", json={"tools": []})
    emptied = fleet.fetch("https://text.example/", context=context)
    assert (emptied["outcome"], emptied["error"]["code"]) == ("refused", "agent_not_permitted")
    assert sum(lab.hits("text.example").values()) == 1


def test_calls_of_a_run_are_summed_up_and_its_live_steps_named(fleet: Fleet, lab: LabControl, ask: Ask) -> None:
    """M152, M153: through both Celery doors; refusals at either door are calls and no reservations."""
    context = fleet.context(project=fleet.project()) | {"step": "read"}
    assert fleet.fetch("https://text.example/", context=context)["outcome"] == "completed"
    assert fleet.fetch("https://notfound.example/", context=context)["outcome"] == "failed"
    thinking = context | {"step": "think"}
    assert fleet.fetch("http://127.0.0.1/", context=thinking)["outcome"] == "refused"
    assert fleet.fetch("https://text.example/", context=thinking, maxChars=1)["outcome"] == "refused"
    assert fleet.reply(fleet.accept("http://127.0.0.1/", context=thinking))["outcome"] == "refused"
    assert fleet.reply(fleet.accept("https://text.example/", context=thinking, offset=-1))["outcome"] == "refused"
    run = ask("GET", f"{context['project']}/runs/{context['run']}").json()["data"]
    [summary] = run["agents"]
    assert summary == {
        "agent": "cli",
        "fetch": {"calls": 6, "completed": 1, "reservations": 2},
        "search": {"calls": 0, "completed": 0, "reservations": 0},
    }
    assert [(step["step"], step["agents"]) for step in run["steps"]] == [("read", ["cli"])]
    retry = ask("POST", f"{context['project']}/runs/{context['run']}/retries").json()["data"]
    assert (retry["agents"], [step["step"] for step in retry["steps"]]) == (["cli"], ["read"])


def test_operations_page_shows_the_fleet(fleet: Fleet, lab: LabControl, site: str, token: str) -> None:
    """Workers, queues, a lease that is held, and the way to Flower."""
    name = uuid4().hex[:8]
    context = fleet.context()
    handle = fleet.send(f"https://counted.example/hold/{name}", context=context)
    lab.await_requests(f"/hold/{name}", seconds=START_SECONDS)
    with requests.Session() as person:
        form = re.search(r'name="csrf" value="(\w+)"', person.get(f"{site}/admin/login", timeout=30).text)
        person.post(f"{site}/admin/login", data={"csrf": form[1], "token": token}, timeout=30)
        pages = {
            path: person.get(f"{site}/admin/{path}", timeout=30).text
            for path in ("fleet", "projects/local/web-search", f"projects/local/runs/{context['run']}")
        }
    lab.release(name)
    assert fleet.reply(handle)["outcome"] == "completed"
    for words in ("worker-1@", "care@", str(fleet.state.flower_url), context["run"], ">fetch<"):
        assert words in pages["fleet"]
    assert context["run"] in pages["projects/local/web-search"]
    assert not any(name in text or "counted.example" in text for text in pages.values())
