"""The gateway as a process of its own: over stdio for one client, and over HTTP beside a running stack."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from ops.lab.control import LabControl
from ops.stack import ports
from tests.fleet import HOUSE, Fleet, wait_until
from tests.mcp_clients import bearer, parameters, token
from tests.stores import rows

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ENDS = "SELECT state FROM operations WHERE run = %s"


class Server:
    """A gateway over stdio, spoken to line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def say(self, message: Any) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def greet(self) -> None:
        self.say(HELLO)
        assert self.hear()["result"]["serverInfo"]["name"] == "outrider"
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, url: str) -> None:
        asked = {"name": "web_fetch", "arguments": {"url": url}}
        self.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked})


@contextmanager
def server(fleet: Fleet, secret: str) -> Iterator[Server]:
    how = parameters(fleet, secret)
    process = subprocess.Popen(
        [how.command, *how.args],
        cwd=how.cwd,
        env=how.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Server(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):  # what was written and never read
                pipe.close()


@pytest.mark.parametrize("how", ["leaves", "is told to end"])
def test_call_under_way_is_taken_back_when_the_process(fleet: Fleet, lab: LabControl, how: str) -> None:
    """Its client is gone: the connection is destroyed, and the end is in the ledger before the process has gone."""
    run, tag = f"r-{uuid4().hex[:8]}", f"stdio-{uuid4().hex[:8]}"
    with server(fleet, token(fleet, run=run)) as one:
        one.greet()
        one.call(f"https://counted.example/hold/{tag}")
        lab.await_requests(f"/hold/{tag}", seconds=60)
        if how == "leaves":
            one.process.stdin.close()
        else:
            one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=60) == 0
    assert rows(fleet, ENDS, run) == [("cancelled",)]
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_message_that_is_too_long_ends_the_connection(fleet: Fleet) -> None:
    """At the limit of a line it is read; over it the process ends, and says why."""
    with server(fleet, token(fleet)) as one:
        one.greet()
        frame = len(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": ""}}))
        one.say({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": "x" * (1_000_000 - frame)}})
        assert one.hear()["id"] == 3
        one.say({"jsonrpc": "2.0", "id": 4, "method": "ping", "params": {"x": "x" * (1_000_001 - frame)}})
        assert one.process.wait(timeout=60) == 1
        assert "longer than 1,000,000 bytes" in one.process.stderr.read()


def test_line_that_is_no_message_is_passed_over(fleet: Fleet) -> None:
    with server(fleet, token(fleet)) as one:
        one.process.stdin.write("nonsense\n{}\n\n")
        one.greet()
        one.process.stdin.close()
        assert one.process.wait(timeout=60) == 0


def test_gateway_over_http_runs_beside_a_stack(fleet: Fleet) -> None:
    """`outrider gateway`, for a deployment whose stores are its own; it answers to its name behind a proxy as well."""
    secret, port, name = token(fleet), ports.choose(8999), "mcp.corp.example"
    how = parameters(fleet, secret)
    own = {"OUTRIDER_GATEWAY_PORT": str(port), "OUTRIDER_GATEWAY_URL": f"https://{name}"}
    environment = os.environ | fleet.environment() | own
    process = subprocess.Popen(
        [how.command, "-m", "ops", "gateway"], cwd=HOUSE, env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: not ports.is_free(port), seconds=60, what="it listens")
        headers = {"Accept": "application/json, text/event-stream"} | bearer(secret)
        with httpx2.Client(verify=False, timeout=60) as http:
            answers = [
                http.post(f"http://127.0.0.1:{port}/mcp", json=HELLO, headers=headers | more).status_code
                for more in (
                    {},
                    {"Host": name, "Origin": f"https://{name}"},
                    {"Host": f"x.{name}"},
                    {"Origin": f"http://{name}"},
                )
            ]
        assert answers == [200, 200, 421, 403]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
