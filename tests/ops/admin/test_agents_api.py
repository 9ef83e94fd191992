"""An agent's tools, its executions, and the summaries of a run, through a running server."""

from collections.abc import Callable
from itertools import product

import pytest

from broker.ledger.operations import admit, settle
from broker.ledger.refusals import note_refusal
from schemas.context import Context
from schemas.errors import AgentNotPermitted, CapabilityDisabled, OutriderError
from tests.ledger_calls import ending, failed, profile, request, run_sql

BOTH = ["web_fetch", "web_search"]


@pytest.fixture
def save(admin, manager) -> Callable[..., None]:
    """Saves project p's settings over the API."""

    def put(*agents: str, enabled: bool = True, fetch: bool = True) -> None:
        body = {"enabled": enabled, "fetchEnabled": fetch, "agents": list(agents)}
        assert admin.api("PUT", "p/web-search", manager, json=body).status_code == 200

    return put


def tools(admin, token, agent="a"):
    return admin.api("GET", f"p/agents/{agent}/tools", token).json()["data"]


def test_agent_with_an_empty_tool_list_gets_neither_tool(admin, manager, orchestrator, save, ledger):
    """M136: and its calls are refused, whoever sends them."""
    save("a", "b")
    assert tools(admin, orchestrator)["tools"] == BOTH
    saved = admin.api("PUT", "p/agents/a/tools", manager, json={"tools": []})
    assert saved.json()["data"] == {"agent": "a", "permitted": True, "toolList": [], "tools": []}
    with pytest.raises(AgentNotPermitted):
        admit(ledger, request(agent="a"))
    assert tools(admin, orchestrator, "b")["tools"] == BOTH
    admit(ledger, request(agent="b"))


def test_new_agent_is_never_added_by_itself(admin, orchestrator, save, ledger):
    """M136: an agent that calls, or that has a tool list, is still none that the project permits."""
    save("a")
    with pytest.raises(AgentNotPermitted):
        admit(ledger, request(agent="new"))
    assert tools(admin, orchestrator, "new") == {"agent": "new", "permitted": False, "toolList": None, "tools": []}


def test_tools_that_are_told_are_those_that_are_admitted(admin, manager, save, ledger):
    """M136: the list and the guard agree in every combination of switches, permission and own list."""
    lists = (None, [], ["web_search"], ["web_fetch"], BOTH)
    for listed, fetch, enabled, agents in product(lists, (True, False), (True, False), (("a",), ("b",))):
        save(*agents, enabled=enabled, fetch=fetch)
        admin.api("PUT", "p/agents/a/tools", manager, json={"tools": listed})
        admitted = [name for name in BOTH if is_admitted(ledger, name.removeprefix("web_"))]
        assert tools(admin, manager)["tools"] == admitted, (listed, fetch, enabled, agents)


def is_admitted(ledger, family: str) -> bool:
    try:
        admit(ledger, request(agent="a", profile=profile(family=family, active_max=99)))
    except (AgentNotPermitted, CapabilityDisabled):
        return False
    return True


def test_grant_waits_for_the_next_execution_and_a_revocation_does_not(admin, orchestrator, save):
    """M137: a running agent is unchanged by a grant; it has it once it executes again."""
    path = "p/runs/r/steps/s/agents/a/execution"
    assert admin.api("GET", path, orchestrator).status_code == 404
    save("a", fetch=False)
    assert admin.api("PUT", path, orchestrator).json()["data"]["tools"] == ["web_search"]
    save("a", fetch=True)
    assert admin.api("GET", path, orchestrator).json()["data"]["tools"] == ["web_search"]
    assert tools(admin, orchestrator)["tools"] == BOTH
    assert admin.api("PUT", path, orchestrator).json()["data"]["tools"] == BOTH
    save("b")
    assert admin.api("GET", path, orchestrator).json()["data"]["tools"] == []


def test_other_tools_are_none_of_these_settings(admin, manager, save):
    """M159: nothing but the two web tools is listed, saved or taken away here."""
    save("a", enabled=False)
    answer = admin.api("PUT", "p/agents/a/tools", manager, json={"tools": ["shell"]})
    assert answer.status_code == 422
    document = admin.ask("GET", "/api/admin/openapi.json").json()
    assert document["components"]["schemas"]["ToolListIn"]["properties"]["tools"]["anyOf"][0]["items"]["enum"] == [
        "web_search",
        "web_fetch",
    ]


def test_saved_tool_list_is_a_generation_on(admin, manager, save, ledger):
    """M139: a save like any other."""
    save("a")
    admin.api("PUT", "p/agents/a/tools", manager, json={"tools": ["web_search"]})
    assert admin.api("GET", "p/web-search", manager).headers["ETag"] == '"2"'
    rows = run_sql(ledger, "SELECT action, facts ->> 'agent' FROM audit WHERE project = 'p' ORDER BY id DESC LIMIT 1")
    assert [tuple(row) for row in rows] == [("project.agent-tools.save", "a")]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "p/agents/a/tools"),
        ("PUT", "p/agents/a/tools"),
        ("GET", "p/runs/r"),
        ("POST", "p/runs/r/retries"),
        ("PUT", "p/runs/r/steps/s/agents/a/execution"),
        ("GET", "p/runs/r/steps/s/agents/a/execution"),
    ],
)
def test_every_route_is_closed_without_a_token_and_to_another_project_s(admin, make_token, method, path):
    body = {"json": {"tools": []}} if path.endswith("tools") and method == "PUT" else {}
    assert admin.api(method, path, **body).status_code == 401
    assert admin.api(method, path, make_token(project="q"), **body).status_code == 403


def refused(ledger, one) -> None:
    """A call that is refused as a worker's raw door counts it."""
    with pytest.raises(OutriderError):
        admit(ledger, one)
    context: Context = one.context
    note_refusal(ledger, context, one.tool.profile.family)


def test_summary_counts_search_and_fetch_calls_apart_from_reservations(admin, orchestrator, save, ledger):
    """M152: refused and unsuccessful calls are calls; a reservation is an admission."""
    save("a", "b")
    settle(ledger, admit(ledger, request(agent="a")), ending())
    settle(ledger, admit(ledger, request(agent="a")), failed())
    settle(ledger, admit(ledger, request(agent="a", profile=profile(family="search"), tool="web_search")), failed())
    admit(ledger, request(agent="b", step="t"))
    save("b")
    refused(ledger, request(agent="a"))
    refused(ledger, request(agent="a", profile=profile(family="search"), tool="web_search"))
    refused(ledger, request(agent="a", profile=profile(family="search"), tool="web_search"))
    none = {"calls": 0, "completed": 0, "reservations": 0}
    run = admin.api("GET", "p/runs/r", orchestrator).json()["data"]
    assert run["agents"] == [
        {
            "agent": "a",
            "fetch": {"calls": 3, "completed": 1, "reservations": 2},
            "search": {"calls": 3, "completed": 0, "reservations": 1},
        },
        {"agent": "b", "fetch": {"calls": 1, "completed": 0, "reservations": 1}, "search": none},
    ]
    assert admin.api("GET", "q/runs/r", orchestrator).json()["data"]["agents"] == []


def test_retry_names_the_steps_with_live_inputs_and_the_log_says_so(admin, orchestrator, save, ledger):
    """M153: named in the answer, on the page and in the run's log; a step that was only refused is none of them."""
    save("a", "b")
    settle(ledger, admit(ledger, request(agent="a", step="gather")), ending())
    admit(ledger, request(agent="b", step="gather"))
    settle(ledger, admit(ledger, request(agent="a", step="read")), failed())
    refused(ledger, request(agent="c", step="think"))
    live = {"liveWebInputs": True, "runsAgainOnRetry": True}
    steps = [{"step": "gather", "agents": ["a", "b"], **live}, {"step": "read", "agents": ["a"], **live}]
    assert admin.api("GET", "p/runs/r", orchestrator).json()["data"]["steps"] == steps
    answer = admin.api("POST", "p/runs/r/retries", orchestrator).json()["data"]
    assert answer == {"run": "r", "agents": ["a", "b"], "steps": steps}
    log = run_sql(ledger, "SELECT facts FROM audit WHERE action = 'run.step.runs-again' ORDER BY facts ->> 'step'")
    assert [row[0] for row in log] == [
        {"run": "r", "step": "gather", "agents": ["a", "b"]},
        {"run": "r", "step": "read", "agents": ["a"]},
    ]
