"""Calls through the gateway: told while they run, taken back, repeated, and never lost with their client or gateway.

Issue 5, item 5: progress; cancellation that loses no outcome; one egress for a repeated call; no query in any log.
"""

import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import psutil
import pytest
from anyio.to_thread import run_sync
from mcp.client.client import Client

from ops.lab.control import LabControl
from tests.fleet import Fleet, wait_until
from tests.mcp_clients import (
    MODES,
    SECONDS,
    TRANSPORTS,
    answers,
    bearer,
    call,
    code_of,
    connected,
    made,
    talk,
    token,
)
from tests.stores import rows
from tests.walks.test_outbox import stopped_workers
from tests.walks.test_sealed import leaks

ENDS = "SELECT state, code FROM operations WHERE run = %s ORDER BY accepted_at"


@pytest.fixture
def run() -> str:
    """A run of the test's own."""
    return f"r-{uuid4().hex[:8]}"


@pytest.fixture
def tag() -> str:
    """A page of the test's own."""
    return f"g-{uuid4().hex[:8]}"


def ends(fleet: Fleet, run: str) -> list[Any]:
    return rows(fleet, ENDS, run)


def gateway_of(fleet: Fleet) -> psutil.Process:
    [process] = wait_until(lambda: fleet.processes("-m", "broker.gateway"), seconds=60, what="the gateway runs")
    return process


def replaced(fleet: Fleet, before: psutil.Process) -> bool:
    """Whether another gateway answers by now."""
    found = fleet.processes("-m", "broker.gateway")
    return [one.pid for one in found] != [before.pid] and bool(found) and answers(fleet)


def interrupted(
    fleet: Fleet,
    secret: str,
    url: str,
    begun: Callable[[], Any],
    *,
    meta: Any = None,
    transport: str = "http",
    mode: str = "auto",
) -> None:
    """One call that its client cancels when `begun` has come back."""

    async def converse() -> None:
        with anyio.fail_after(SECONDS):
            async with (
                connected(fleet, secret, transport=transport, mode=mode) as client,
                anyio.create_task_group() as group,
            ):
                group.start_soon(lambda: client.call_tool("web_fetch", {"url": url}, meta=meta))
                await run_sync(begun)
                group.cancel_scope.cancel()

    anyio.run(converse)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_client_is_told_what_its_call_does(fleet: Fleet, lab: LabControl, transport: str, mode: str) -> None:
    del lab
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, _total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def converse(client: Client) -> Any:
        return await client.call_tool("web_fetch", {"url": "https://text.example/"}, progress_callback=hear)

    assert not talk(fleet, token(fleet), converse, transport=transport, mode=mode).is_error
    assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})
    stages = [str(message).split(",")[0] for _, message in told]
    assert [stages.index(stage) for stage in ("resolving", "connecting", "extracting")] == sorted(
        stages.index(stage) for stage in ("resolving", "connecting", "extracting")
    )
    assert "text.example" not in str(told)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_cancelled_call_ends_in_the_ledger_and_is_answered_from_it(
    fleet: Fleet, lab: LabControl, run: str, tag: str, transport: str, mode: str
) -> None:
    """The request is under way; its connection is destroyed, the end is `cancelled`, a repeat sends nothing."""
    secret, meta = token(fleet, run=run), {"outrider/call": tag}
    url, begun = f"https://counted.example/hold/{tag}", lambda: lab.await_requests(f"/hold/{tag}", seconds=30)
    interrupted(fleet, secret, url, begun, meta=meta, transport=transport, mode=mode)
    wait_until(lambda: ends(fleet, run) == [("cancelled", "cancelled")], seconds=40, what="cancelled")
    again = call(fleet, secret, url, meta=meta)
    assert (code_of(again), again.meta["outrider/operation"]["replayed"]) == ("cancelled", True)
    assert again.meta["outrider/operation"]["receipt"]["sent"] == "sent"
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_client_that_hangs_up_without_a_word_does_not_cancel(fleet: Fleet, lab: LabControl, run: str, tag: str) -> None:
    """The older revisions say so: a connection that is lost is no cancellation. The call ends, and is not repeated."""
    secret, url = token(fleet, run=run), str(fleet.state.gateway_url)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {
        "name": "web_fetch",
        "arguments": {"url": f"https://counted.example/hold/{tag}"},
        "_meta": {"outrider/call": tag},
    }
    accept = {"Accept": "application/json, text/event-stream"} | bearer(secret)
    with httpx2.Client(headers=accept, timeout=60) as http:
        opened = http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
        with http.stream("POST", url, json=message, headers=session) as answer:
            assert answer.status_code == 200
            lab.await_requests(f"/hold/{tag}", seconds=30)
    lab.release(tag)
    wait_until(lambda: ends(fleet, run) == [("completed", None)], seconds=40, what="completed")
    again = call(fleet, secret, f"https://counted.example/hold/{tag}", meta={"outrider/call": tag})
    assert code_of(again) == "reply_not_kept"
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_gateway_killed_mid_call_loses_no_outcome(fleet: Fleet, lab: LabControl, run: str, tag: str) -> None:
    """One egress: a repeat is told that the call runs, and after its end is answered from the ledger."""
    secret, meta, url = token(fleet, run=run), {"outrider/call": tag}, f"https://counted.example/hold/{tag}"
    gateway = gateway_of(fleet)

    async def converse() -> None:
        async with connected(fleet, secret) as client, anyio.create_task_group() as group:
            group.start_soon(kill)
            await client.call_tool("web_fetch", {"url": url}, meta=meta)

    async def kill() -> None:
        await run_sync(lambda: lab.await_requests(f"/hold/{tag}", seconds=30))
        gateway.kill()

    with pytest.raises(BaseExceptionGroup):
        anyio.run(converse)
    wait_until(lambda: replaced(fleet, gateway), seconds=60, what="another gateway answers")
    running = call(fleet, secret, url, meta=meta)
    lab.release(tag)
    wait_until(lambda: ends(fleet, run) == [("completed", None)], seconds=40, what="completed")
    ended = call(fleet, secret, url, meta=meta)
    assert [code_of(one) for one in (running, ended)] == ["operation_in_progress", "reply_not_kept"]
    assert running.structured_content["error"]["retryable"] is True
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_gateway_that_is_told_to_end_answers_what_it_began(fleet: Fleet, lab: LabControl, run: str, tag: str) -> None:
    """And takes nothing new: a call of that time is refused, and nothing of it is sent."""
    secret = token(fleet, run=run)
    gateway = gateway_of(fleet)

    async def converse(client: Client) -> list[Any]:
        found: list[Any] = []
        async with anyio.create_task_group() as group:

            async def begin() -> None:
                found.append(await client.call_tool("web_fetch", {"url": f"https://counted.example/hold/{tag}"}))

            group.start_soon(begin)
            await run_sync(lambda: lab.await_requests(f"/hold/{tag}", seconds=30))
            gateway.send_signal(signal.SIGTERM)
            late: Any = None
            while code_of(late := await client.call_tool("web_fetch", {"url": "https://text.example/"})) is None:
                pass  # it had not heard yet
            lab.release(tag)
        return [late, *found]

    late, begun = talk(fleet, secret, converse)
    assert (code_of(late), late.structured_content["error"]["message"][:22]) == ("internal", "This gateway is ending")
    assert begun.structured_content["content"]
    wait_until(lambda: replaced(fleet, gateway), seconds=60, what="another gateway answers")


def test_session_that_only_listens_does_not_hold_the_gateway_back(fleet: Fleet) -> None:
    """An open stream of an older client is no call: the gateway ends long before the grace that calls are given."""
    gateway = gateway_of(fleet)

    async def converse(client: Client) -> int:
        assert (await client.list_tools()).tools
        gateway.send_signal(signal.SIGTERM)
        await run_sync(gateway.wait, 25)
        return 1

    with suppress(BaseExceptionGroup):  # its server is gone when the client says goodbye
        assert talk(fleet, token(fleet), converse, mode="legacy") == 1
    assert not gateway.is_running()
    wait_until(lambda: replaced(fleet, gateway), seconds=60, what="another gateway answers")


def test_call_id_belongs_to_its_agent_and_run(fleet: Fleet, lab: LabControl, tag: str) -> None:
    """The same word of another identity is another call: nobody meets, or spoils, another's."""
    meta, url = {"outrider/call": tag}, f"https://counted.example/{tag}"
    mine, other = token(fleet, run="r-mine"), token(fleet, run="r-other")
    first, again, conflict = (call(fleet, mine, address, meta=meta) for address in (url, url, f"{url}-elsewhere"))
    assert [code_of(one) for one in (first, again, conflict)] == [None, "reply_not_kept", "call_conflict"]
    assert not call(fleet, other, url, meta=meta).is_error
    assert len(lab.requests(f"/{tag}")) == 2


def test_context_is_the_token_s_and_the_client_s_where_it_is_not_bound(fleet: Fleet, lab: LabControl, run: str) -> None:
    del lab
    bound = token(fleet, run=run, step="read")
    free, secret = made(fleet)
    named = {"outrider/run": run, "outrider/step": "write"}
    assert not call(fleet, bound, "https://text.example/").is_error
    assert not call(fleet, secret, "https://text.example/", meta=named).is_error
    assert not call(fleet, secret, "https://text.example/").is_error
    refused = [
        call(fleet, bound, "https://text.example/", meta={"outrider/run": "r-other"}),
        call(fleet, bound, "https://text.example/", meta={"outrider/step": "write"}),
        call(fleet, secret, "https://text.example/", meta={"outrider/run": "../other"}),
        call(fleet, secret, "https://text.example/", meta={"outrider/call": 7}),
    ]
    assert [code_of(one) for one in refused] == ["invalid_arguments"] * 4
    steps = "SELECT step FROM operations WHERE run = %s AND agent = 'cli' AND project = 'local' ORDER BY accepted_at"
    assert rows(fleet, steps, run) == [("read",), ("write",)]
    [[day, hour]] = rows(fleet, "SELECT run, step FROM operations WHERE run LIKE %s", f"{free.id}.%")
    assert re.fullmatch(re.escape(free.id) + r"\.\d{4}-\d\d-\d\d \d\dh", f"{day} {hour}")


def test_calls_of_one_project_are_bounded_and_what_nobody_began_is_taken_back(
    fleet: Fleet, lab: LabControl, run: str, tag: str
) -> None:
    """Sixteen wait, the seventeenth is refused at once; their client leaves, and none of them is ever sent."""
    project = fleet.project()
    secret = token(fleet, project, run=run)

    async def converse(client: Client) -> Any:
        def ask(number: int) -> Callable[[], Awaitable[Any]]:
            return lambda: client.call_tool("web_fetch", {"url": f"https://counted.example/{tag}-{number}"})

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(ask(number))
            await run_sync(lambda: wait_until(lambda: len(ends(fleet, run)) == 16, seconds=40, what="accepted"))
            over = await ask(16)()
            group.cancel_scope.cancel()
        return over

    with stopped_workers(fleet):
        over = talk(fleet, secret, converse)
        wait_until(
            lambda: ends(fleet, run) == [("cancelled", "cancelled")] * 16, seconds=60, what="all were taken back"
        )
    error = over.structured_content["error"]
    assert (error["code"], error["retryable"], error["facts"]) == ("project_busy", True, {"limit": 16})
    assert [lab.requests(f"/{tag}-{number}") for number in range(17)] == [[]] * 17


def test_no_query_secret_or_header_is_in_any_log(fleet: Fleet, lab: LabControl) -> None:
    """Of calls that are completed, refused and broken off, and of requests that are turned away."""
    del lab
    canary, secret = f"kanarie{uuid4().hex}", token(fleet)
    for transport in TRANSPORTS:

        async def converse(client: Client) -> Any:
            await client.call_tool("web_fetch", {"url": f"https://text.example/?q={canary}"})
            await client.call_tool("web_fetch", {"url": f"https://text.example/?q={canary}", canary: canary})
            return await client.call_tool("web_fetch", {"url": canary}, meta={"outrider/call": canary})

        talk(fleet, secret, converse, transport=transport)
    url, own = str(fleet.state.gateway_url), {"Content-Type": "application/json", "Accept": "*/*"} | bearer(secret)
    turned_away = ({"Host": canary}, {"Origin": f"https://{canary}"}, {"mcp-session-id": canary}, {})
    with httpx2.Client(verify=False, timeout=60) as http:
        for headers in turned_away:
            assert http.post(f"{url}?{canary}", content=b"{" + canary.encode(), headers=own | headers).is_error
        assert http.post(f"{url}/{canary}?{canary}", headers=bearer(f"outrider_{canary}")).is_error
    assert "gateway_call_closed" in fleet.logs()
    assert leaks(fleet, canary, secret) == []
