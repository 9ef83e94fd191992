"""`outrider up` and the commands that speak to a running stack."""

import base64
import json
import os
import signal
import socket
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from flower.urls import handlers

from ops.stack import ports
from schemas.envelope import Envelope
from tests.ops.running import Command, command, of_home, outrider, wait_until

PARTS = {"postgres", "broker", "results", "flower", "metrics", "admin", "gateway", "worker-1", "care", "beat"}


def test_up_tells_where_each_part_is(fleet: Command) -> None:
    assert {line.split()[0] for line in fleet.lines if line.startswith("  ")} >= PARTS


def test_extraction_processes_wait_for_the_first_page_in_the_workers_that_serve_tools(fleet: Command) -> None:
    def serving() -> dict[str, bool]:
        found = {}
        for part in psutil.Process(fleet.process.pid).children():
            with suppress(psutil.Error):  # a child that ends while it is looked at
                words = part.cmdline()
                if "-n" in words:
                    name = words[words.index("-n") + 1].partition("@")[0]
                    found[name] = any("spawn_main" in " ".join(child.cmdline()) for child in part.children())
        return found

    wait_until(lambda: serving().get("worker-1"), "the worker has its extraction processes")
    assert serving()["care"] is False


def test_a_second_up_says_who_runs(fleet: Command, fleet_home: Path) -> None:
    ended = outrider("up", home=fleet_home)
    assert ended.returncode == 1
    assert str(fleet.process.pid) in ended.stderr


def test_status_sees_workers_queues_and_operations(fleet: Command, fleet_home: Path) -> None:
    def workers() -> set[str]:
        ended = outrider("status", "--json", home=fleet_home)
        said = json.loads(ended.stdout)
        assert ended.returncode == 0, ended.stderr
        assert said["owner"] == fleet.process.pid
        assert set(said["queues"]) == {"search", "fetch", "models", "care", "celery"}
        assert said["operations"]["pending"] == 0
        return {name.partition("@")[0] for name in said["workers"]}

    wait_until(lambda: workers() >= {"worker-1", "care"}, "the workers answer")


@pytest.mark.usefixtures("fleet")
def test_a_fetch_uses_the_running_stack(fleet_home: Path) -> None:
    ended = outrider("fetch", "http://127.0.0.1/", home=fleet_home)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.splitlines()[0] == "using the running stack"
    assert outrider("status", home=fleet_home).returncode == 0


@pytest.mark.usefixtures("fleet")
def test_a_call_with_unknown_fields_is_refused_and_names_no_value(fleet_home: Path) -> None:
    arguments = json.dumps({"url": "http://127.0.0.1/", "secret_field": "canary-value"})
    ended = outrider("call", "web_fetch", "--arguments", arguments, "--json", home=fleet_home)
    envelope = Envelope.model_validate_json(ended.stdout)
    assert ended.returncode == 2, ended.stderr
    assert envelope.error is not None
    assert envelope.error.code == "invalid_arguments"
    assert "canary-value" not in ended.stdout + ended.stderr


@pytest.mark.usefixtures("fleet")
def test_a_project_is_saved_and_shown_and_what_is_not_named_stays(fleet_home: Path) -> None:
    words = ("project", "set", "research", "--enabled", "--fetch", "--agents", "designer, planner,")
    assert outrider(*words, home=fleet_home).returncode == 0
    outrider("project", "set", "research", "--no-fetch", home=fleet_home)
    shown = json.loads(outrider("project", "show", "research", "--json", home=fleet_home).stdout)
    assert (shown["enabled"], shown["fetch_enabled"], shown["generation"]) == (True, False, 2)
    assert shown["agents"] == ["designer", "planner"]


@pytest.mark.usefixtures("fleet")
def test_a_project_that_was_never_saved_is_shown_as_such_and_stays_unsaved(fleet_home: Path) -> None:
    assert outrider("project", "set", "nobody", home=fleet_home).returncode == 1
    ended = outrider("project", "show", "nobody", "--json", home=fleet_home)
    assert "never saved" in ended.stderr
    assert json.loads(ended.stdout)["generation"] == 0


@pytest.mark.usefixtures("fleet")
def test_a_receipt_is_shown_byte_for_byte_and_its_digest_judged(fleet_home: Path) -> None:
    fetched = json.loads(outrider("fetch", "https://example.com/", "--json", home=fleet_home).stdout)
    ended = outrider("receipt", "show", fetched["operation"], "--json", home=fleet_home)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["operation"] == fetched["operation"]
    assert fetched["receipt"]["digest"] in ended.stderr
    assert outrider("receipt", "show", "0" * 32, home=fleet_home).returncode == 3


@pytest.mark.usefixtures("fleet")
def test_migrating_twice_changes_nothing(fleet_home: Path) -> None:
    assert "current" in outrider("migrate", home=fleet_home).stderr


# What anybody on this machine may have of Flower: its own pictures, and the page that says that there is none.
OPEN = {"/static/(.*)", "/login/?", "/logout$", ".*"}


def _flower(fleet: Command) -> tuple[str, dict[str, str]]:
    words = next(line for line in fleet.lines if line.startswith("  flower")).replace(",", "").split()
    proof = base64.b64encode(f"{words[5]}:{words[7]}".encode()).decode()
    url = words[3].rstrip("/")
    wait_until(lambda: not ports.is_free(int(url.rpartition(":")[2])), "Flower listens")
    return url, {"Authorization": f"Basic {proof}"}


def _doors(method: str) -> list[str]:
    """The paths of Flower's handlers that have this method, as its own table of them says."""
    found = []
    for one in handlers:
        pattern, kind = (one.regex.pattern, one.handler_class) if hasattr(one, "regex") else one[:2]
        ours = [part for part in kind.__mro__ if part.__module__.startswith("flower")]
        if pattern not in OPEN and any(method in vars(part) for part in ours):
            found.append(pattern.rstrip("$").replace("(.+)", "x").replace("(.*)", "x"))
    return found


@pytest.mark.parametrize("path", _doors("get"))
def test_every_page_of_flower_wants_the_password(fleet: Command, path: str) -> None:
    """Upstream /metrics and /healthcheck want none; `ops.flower_app` closes them."""
    url, proof = _flower(fleet)
    assert _status(url + path, {}) == 401
    assert _status(url + path, {"Authorization": "Basic b3V0cmlkZXI6d3Jvbmc="}) == 401
    if path in {"/", "/metrics", "/healthcheck", "/api/workers"}:
        assert _status(url + path, proof) == 200


@pytest.mark.parametrize("path", [path for path in _doors("post") if path.startswith("/api/")])
def test_flower_changes_nothing_for_whoever_knows_the_password(fleet: Command, path: str) -> None:
    url, proof = _flower(fleet)
    assert _status(url + path, proof, b"") == 403
    assert _status(url + path, {}, b"") in {401, 403}


def test_the_table_of_flower_s_doors_is_the_one_it_serves() -> None:
    """A release of Flower that opens another door is looked at by the two tests above."""
    assert len(_doors("get")) >= 14
    assert len(_doors("post")) >= 13
    assert {"/metrics", "/healthcheck", "/api/task/result/x"} <= set(_doors("get"))


def test_flower_gives_no_reply_out_of_the_result_store(fleet: Command) -> None:
    url, proof = _flower(fleet)
    assert _status(url + "/api/task/result/x", proof) == 403


def _status(url: str, headers: dict[str, str], body: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.fault
def test_a_killed_worker_is_started_again_and_said(fleet: Command, fleet_home: Path) -> None:
    line = next(line for line in fleet.lines if line.startswith("  care"))
    os.kill(int(line.split()[2]), signal.SIGKILL)
    fleet.wait_for("care ended with status -9")
    wait_until(lambda: "care@" in outrider("status", home=fleet_home).stdout, "care answers again")


@pytest.mark.fault
def test_drain_ends_a_running_stack_and_leaves_nothing(home: Path) -> None:
    with command("ops", "up", home=home) as running:
        running.wait_for("Ctrl-C drains", seconds=90)
        assert outrider("drain", home=home).returncode == 0
        assert running.process.wait(timeout=30) == 0
    assert of_home(home) == []
    assert "nothing is running" in outrider("drain", home=home).stderr


def test_up_says_where_flower_went_when_its_port_is_taken(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with command("ops", "up", "--port-base", str(port), home=home) as running:
            assert running.wait_for("is taken").startswith(f"port {port} is taken: Flower listens on ")
            assert running.end() == 0


@pytest.mark.fault
def test_a_second_interrupt_hurries_and_breaks_nothing(home: Path, silent_dns: str) -> None:
    """A call that nobody answers would hold the first one for as long as its lookup may take."""
    with command("ops", "up", home=home, OUTRIDER_NAMESERVERS=silent_dns) as running:
        running.wait_for("Ctrl-C drains", seconds=90)
        with command("ops", "fetch", "https://example.com/", home=home) as call:
            call.wait_for("resolving example.com")
            running.process.send_signal(signal.SIGINT)
            running.wait_for("draining")
            assert running.end(signal.SIGINT) == 0
            assert call.process.wait(timeout=10) == 4
    assert of_home(home) == []
    assert json.loads(outrider("project", "show", "local", "--json", home=home).stdout)["generation"] == 1


@pytest.mark.fault
def test_nothing_outlives_a_killed_up_and_the_next_one_heals(home: Path) -> None:
    with command("ops", "up", home=home) as running:
        running.wait_for("Ctrl-C drains", seconds=90)
        assert running.end(signal.SIGKILL) == -9
        wait_until(lambda: of_home(home) == [], "the kernel ended the parts")
    ended = outrider("fetch", "http://127.0.0.1/", home=home)
    assert ended.returncode == 2, ended.stderr
    assert psutil.pid_exists(running.process.pid) is False


@pytest.mark.fault
def test_a_drained_worker_is_not_started_again_while_the_stack_goes_on(home: Path) -> None:
    """Status 0 was asked to leave, and stays away; a killed one comes back (above)."""
    with command("ops", "up", home=home) as running:
        running.wait_for("Ctrl-C drains", seconds=90)
        wait_until(lambda: "care@" in outrider("status", home=home).stdout, "care answers")
        care = f"care@{socket.gethostname()}"
        ended = outrider("drain", care, home=home)
        assert (ended.returncode, ended.stderr.splitlines()[-1]) == (0, f"{care}: drained")
        running.wait_for("care was asked to leave, and has finished")
        assert outrider("status", "--worker", care, home=home).returncode == 3
        assert outrider("fetch", "http://127.0.0.1/", home=home).returncode == 2
        assert outrider("status", "--worker", socket.gethostname(), home=home).returncode == 0
        assert running.end() == 0
    assert not [line for line in running.lines if "starting it again" in line]
