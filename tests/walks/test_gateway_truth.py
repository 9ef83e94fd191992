"""A truth-analysis session at the gateway: its four capabilities and nothing else (M1, M2, M3, M7, M8, M9)."""

from typing import Any

import pytest
from mcp.client.client import Client

from ops.lab.control import LabControl
from tests.fleet import Fleet
from tests.mcp_clients import MODES, code_of, names, talk, token
from tests.stores import rows
from tests.truth_calls import Worker, find, launched, output

CAPABILITIES = ["fetch", "job_get", "job_submit", "search"]
OPERATIONS = "SELECT count(*) FROM operations WHERE project = %s"


def session_token(fleet: Fleet, worker: Worker, session: str | None = None) -> str:
    """The token of a run's worker."""
    own = session or f"{worker.run}-cowork-truth-analysis"
    return token(fleet, project=worker.project, agent="analyst", run=worker.run, session=own)


def ask(fleet: Fleet, secret: str, tool: str, arguments: dict[str, Any]) -> Any:
    return talk(fleet, secret, lambda client: client.call_tool(tool, arguments))


@pytest.mark.parametrize("mode", MODES)
def test_session_is_listed_its_four_capabilities_and_calls_them(fleet: Fleet, lab: LabControl, mode: str) -> None:
    """M1, M9: a whole run through MCP: context, search, fetch, submission."""
    worker = launched(fleet)
    find(lab, "https://good.example/")

    async def work(client: Client) -> tuple[Any, ...]:
        tools = (await client.list_tools()).tools
        job = await client.call_tool("cowork_truth_analysis_job_get", {"run_id": worker.run})
        found = await client.call_tool("cowork_truth_analysis_search", {"run_id": worker.run, "query": "moon"})
        hit = found.structured_content["hits"][0]["hit_id"]
        read = await client.call_tool("cowork_truth_analysis_fetch", {"run_id": worker.run, "hit_id": hit})
        again = await client.call_tool("cowork_truth_analysis_fetch", {"run_id": worker.run, "hit_id": hit})
        done = await client.call_tool("cowork_truth_analysis_job_submit", {"run_id": worker.run, "output": output()})
        return tools, job, read, again, done

    tools, job, read, again, done = talk(fleet, session_token(fleet, worker), work, mode=mode)
    assert [tool.name for tool in tools] == [f"cowork_truth_analysis_{name}" for name in CAPABILITIES]
    assert {tool.meta["outrider/category"] for tool in tools} == {"cowork"}
    assert {tool.annotations.read_only_hint for tool in tools} == {False}
    assert job.structured_content["analysis_run_id"] == worker.run
    assert read.structured_content["exact_text"] == again.structured_content["exact_text"] != ""
    assert again.meta["outrider/operation"]["replayed"] is True
    assert lab.hits("good.example") == {"good.example/": 1}
    assert done.structured_content["status"] == "completed"
    assert worker.status()["state"] == "completed"


@pytest.mark.parametrize("tool", ["web_fetch", "web_search", "truth_status", "truth_launch"])
def test_session_is_denied_everything_else_before_any_service_code_runs(
    fleet: Fleet, lab: LabControl, tool: str
) -> None:
    """M2, M8: whatever a passage or a page names."""
    worker = launched(fleet)
    arguments = {"web_fetch": {"url": "https://good.example/"}, "web_search": {"query": "moon"}}
    before = rows(fleet, OPERATIONS, worker.project)
    denied = ask(fleet, session_token(fleet, worker), tool, arguments.get(tool, {"run_id": worker.run}))
    assert code_of(denied) == "capability_forbidden"
    assert rows(fleet, OPERATIONS, worker.project) == before
    assert (lab.queries(), lab.hits("good.example")) == ([], {})


def test_session_of_another_run_or_suffix_is_refused(fleet: Fleet, lab: LabControl) -> None:
    """M3: the run_id routes and grants nothing; the session comes from the token alone."""
    worker, other = launched(fleet), launched(fleet)
    for session in (f"{other.run}-cowork-truth-analysis", f"{worker.run}-cowork-truth", worker.run):
        secret = session_token(fleet, worker, session)
        denied = ask(fleet, secret, "cowork_truth_analysis_job_get", {"run_id": worker.run})
        assert code_of(denied) == "session_forbidden", session
    assert lab.queries() == []


def test_fetch_has_no_url(fleet: Fleet, lab: LabControl) -> None:
    """M7: a closed schema; an extra `url` is refused before anything is sent."""
    worker = launched(fleet)
    arguments = {"run_id": worker.run, "hit_id": "a" * 32, "url": "https://good.example/"}
    denied = ask(fleet, session_token(fleet, worker), "cowork_truth_analysis_fetch", arguments)
    assert code_of(denied) == "invalid_arguments"
    assert (lab.queries(), lab.hits("good.example")) == ([], {})


def test_agents_are_never_listed_what_sessions_and_orchestrators_have(fleet: Fleet, lab: LabControl) -> None:
    """M2, the other way: an agent's token sees the web tools alone."""
    del lab
    assert names(fleet, token(fleet)) == ["web_fetch", "web_search"]
