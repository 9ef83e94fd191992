"""Calls under the ledger's rules, end to end: taken back, overtaken by new settings, over quota, racing."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from broker import intake
from broker.app import app
from broker.intake import Handle
from broker.ledger.operations import find_ended
from broker.ledger.overview import read_operation
from broker.ledger.projects import Project, read_project, save_project
from ops.lab.control import LabControl
from schemas.profiles import WEB_FETCH
from tests.faults.servers import Origin, hold_after, origin
from tests.fleet import Fleet, wait_until
from tests.walks.crowd import look, see

QUOTA = WEB_FETCH.quota
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n"
CALLERS = 200
START_SECONDS = 30  # a fleet that was just started takes its first message late
CLOSE_SECONDS = 5  # a connection is destroyed within a second; the origin keeps one open for twice as long as this


@contextmanager
def held_origin(lab: LabControl, host: str, address: str, wire: bytes = b"") -> Iterator[Origin]:
    """An origin of the test's own on port 80, which sees how a connection ends: it never ends one itself."""
    lab.dns(host, A=[address])
    with origin(hold_after(wire), address=address, port=80) as server:
        yield server


def await_request(server: Origin) -> None:
    wait_until(lambda: server.requests, seconds=START_SECONDS, what="the request at the origin")


@pytest.mark.parametrize(
    "wire", [pytest.param(b"", id="before-the-answer"), pytest.param(HEAD + b"<p>", id="in-the-body")]
)
def test_cancelled_call_destroys_its_connection(fleet: Fleet, lab: LabControl, wire: bytes) -> None:
    """M127: the origin sees the end; the call has one account, which counts what was sent."""
    with held_origin(lab, "taken.example", "93.184.77.1", wire) as server:
        handle = fleet.send("http://taken.example/")
        await_request(server)
        intake.cancel(handle)
        assert server.left.wait(CLOSE_SECONDS)
        seen = look(fleet, fleet.reply(handle))
        assert len(server.requests) == server.connections == 1
    assert (seen.outcome, seen.code, seen.envelope["value"]) == ("cancelled", "cancelled", None)
    assert (seen.receipt["state"], seen.receipt["sent"]) == ("cancelled", "sent")
    assert read_operation(fleet.ledger, seen.envelope["operation"]).state == "cancelled"


def test_cancelled_call_is_cancelled_for_its_repeats(fleet: Fleet, lab: LabControl) -> None:
    """M127, M148, X1: a repeat is told the same end and sends nothing; the reservation is spent."""
    context = fleet.context(call=f"c-{uuid4().hex[:8]}")
    with held_origin(lab, "taken.example", "93.184.77.1") as server:
        handle = fleet.send("http://taken.example/", context=context)
        await_request(server)
        intake.cancel(handle)
        first = fleet.reply(handle)
        again = fleet.fetch("http://taken.example/", context=context)
        assert len(server.requests) == 1
    assert (again["outcome"], again["replayed"], again["receipt"]) == ("cancelled", True, first["receipt"])
    other = fleet.fetch("https://text.example/", context={**context, "call": "another"})
    assert other["value"]["budget"]["step"] == QUOTA.step_max - 2


def test_dripping_call_can_be_cancelled(fleet: Fleet, lab: LabControl) -> None:
    """M127: bytes keep coming, and the call ends all the same."""
    handle = fleet.send("https://drip.example/", progress=True)
    told: list[str] = []

    def cancel_once_receiving(stage: str, facts: dict) -> None:
        told.append(stage)
        if told.count("receiving") == 1 and stage == "receiving":
            intake.cancel(handle)

    envelope = intake.await_reply(handle, timeout_seconds=25, ledger=fleet.ledger, on_progress=cancel_once_receiving)
    assert (envelope["outcome"], envelope["receipt"]["sent"]) == ("cancelled", "sent")


def test_stages_told_before_anybody_waits_are_heard(fleet: Fleet, lab: LabControl) -> None:
    """A reader who comes late hears every stage: the page is held until it was told that we are connected."""
    handle = fleet.send("https://counted.example/hold/stages", progress=True)
    assert len(lab.await_requests("/hold/stages", seconds=START_SECONDS)) == 1
    told: list[str] = []

    def hear(stage: str, facts: dict) -> None:
        told.append(stage)
        if stage == "connecting":
            lab.release("stages")

    envelope = intake.await_reply(handle, timeout_seconds=40, ledger=fleet.ledger, on_progress=hear)
    assert envelope["outcome"] == "completed"
    assert list(dict.fromkeys(told)) == ["resolving", "connecting", "receiving", "extracting"]


def test_call_cancelled_at_once_ends_whatever_it_was_doing(fleet: Fleet, lab: LabControl) -> None:
    """M127: between the message, its admission and its request there is no gap in which the word is lost."""
    handles = [fleet.send("https://mute.example/", context=fleet.context(project=fleet.project())) for _ in range(24)]
    for handle in handles:
        intake.cancel(handle)
    for handle in handles:
        seen = look(fleet, fleet.reply(handle))
        assert (seen.outcome, seen.code) == ("cancelled", "cancelled")
        stored = find_ended(fleet.ledger, handle.project, handle.key)
        assert (stored is None) == (seen.receipt == {})
        assert stored is None or stored.state == "cancelled"


def test_call_cancelled_before_it_began_sends_nothing(fleet: Fleet, lab: LabControl) -> None:
    """M127: a message that still waits is dropped. It waits here because its orchestrator said so."""
    task_id, context = uuid4().hex, fleet.context()
    sent = {"arguments": {"url": "https://good.example/"}, "context": context}
    app.send_task("web_fetch", kwargs=sent, task_id=task_id, countdown=2)
    handle = Handle(tool="web_fetch", project="local", task_id=task_id, key=task_id)
    intake.cancel(handle)
    envelope = fleet.reply(handle)
    assert (envelope["outcome"], envelope["error"]["code"]) == ("cancelled", "cancelled")
    assert (envelope["operation"], envelope["receipt"]) == (None, None)
    assert find_ended(fleet.ledger, "local", task_id) is None
    assert lab.queries() == []


def resaved(fleet: Fleet, project: str) -> None:
    save_project(fleet.ledger, read_project(fleet.ledger, project), actor="test")


def switched_off_and_on(fleet: Fleet, project: str) -> None:
    save_project(fleet.ledger, Project(id=project, enabled=False, agents=("cli",)), actor="test")
    save_project(fleet.ledger, Project(id=project, enabled=True, fetch_enabled=True, agents=("cli",)), actor="test")


def switched_off(fleet: Fleet, project: str) -> None:
    save_project(fleet.ledger, Project(id=project, enabled=True, fetch_enabled=False, agents=("cli",)), actor="test")


def without_the_agent(fleet: Fleet, project: str) -> None:
    save_project(fleet.ledger, Project(id=project, enabled=True, fetch_enabled=True, agents=("else",)), actor="test")


@pytest.mark.parametrize(
    ("save", "next_code"),
    [
        pytest.param(resaved, None, id="M139-saved-again"),
        pytest.param(switched_off_and_on, None, id="M139-off-and-on"),
        pytest.param(switched_off, "capability_disabled", id="M138-off"),
        pytest.param(without_the_agent, "agent_not_permitted", id="M138-agent"),
    ],
)
def test_settings_saved_meanwhile_withhold_the_result(
    fleet: Fleet, lab: LabControl, save: Callable[[Fleet, str], None], next_code: str | None
) -> None:
    """M137-M139: the page was read, and is not given; the next call goes by the new settings."""
    project, target = fleet.project(), "/hold/settings"
    handle = fleet.send(f"https://counted.example{target}", context=fleet.context(project=project))
    assert len(lab.await_requests(target, seconds=START_SECONDS)) == 1
    save(fleet, project)
    lab.release("settings")
    seen = look(fleet, fleet.reply(handle))
    assert (seen.outcome, seen.code, seen.envelope["value"]) == ("failed", "settings_changed", None)
    assert (seen.receipt["state"], seen.receipt["sent"]) == ("failed", "sent")
    later = see(fleet, "https://text.example/", project=project)
    assert later.code == next_code
    assert len(lab.requests(target)) == 1


@pytest.mark.parametrize(
    ("project", "code"),
    [
        pytest.param(None, "capability_disabled", id="M131-never-saved"),
        pytest.param(
            {"enabled": False, "fetch_enabled": True, "agents": ("cli",)}, "capability_disabled", id="M131-off"
        ),
        pytest.param({"enabled": True, "agents": ("cli",)}, "capability_disabled", id="M132-fetch-off"),
        pytest.param({"enabled": True, "fetch_enabled": True}, "agent_not_permitted", id="M133-other-agent"),
        pytest.param({"enabled": True, "fetch_enabled": True, "agents": ()}, "agent_not_permitted", id="M136-no-agent"),
    ],
)
def test_call_without_permission_is_refused_in_silence(
    fleet: Fleet, lab: LabControl, project: dict | None, code: str
) -> None:
    """M131-M136, M148: no reservation, no question to DNS."""
    name = f"p-{uuid4().hex[:8]}"
    if project is not None:
        save_project(fleet.ledger, Project(id=name, **project), actor="test")
    envelope = fleet.fetch("https://good.example/", context=fleet.context(project=name))
    assert (envelope["outcome"], envelope["error"]["code"]) == ("refused", code)
    assert (envelope["operation"], envelope["receipt"]) == (None, None)
    assert lab.queries() == []


def test_fourth_call_at_once_is_refused_and_costs_nothing(fleet: Fleet, lab: LabControl) -> None:
    """M144, M148: three run; a fourth is told to wait, in silence; other projects are not held up."""
    context = fleet.context(project=fleet.project())
    running = [
        fleet.send(f"https://counted.example/hold/{number}", context=context) for number in range(QUOTA.active_max)
    ]
    for number in range(QUOTA.active_max):
        assert len(lab.await_requests(f"/hold/{number}", seconds=START_SECONDS)) == 1
    fourth = fleet.fetch("https://good.example/", context=context)
    assert (fourth["outcome"], fourth["error"]["code"], fourth["error"]["retryable"]) == (
        "refused",
        "project_busy",
        True,
    )
    assert lab.queries("good.example") == []
    assert see(fleet, "https://text.example/", project=fleet.project()).outcome == "completed"
    lab.release("0")
    assert fleet.reply(running[0])["outcome"] == "completed"
    next_one = fleet.fetch("https://good.example/", context=context)
    assert next_one["value"]["budget"]["step"] == QUOTA.step_max - QUOTA.active_max - 1
    for number, handle in enumerate(running[1:], start=1):
        lab.release(str(number))
        assert fleet.reply(handle)["outcome"] == "completed"


def test_step_and_run_are_exhausted_at_their_quota(fleet: Fleet, lab: LabControl) -> None:
    """M142, M143: 40 for a step, 200 for a run, whoever of its children spends them; a refusal costs nothing."""
    project, run = fleet.project(), f"r-{uuid4().hex[:8]}"
    lab.site("cheap.example", site="page", type="text/plain", body="A cheap page.")
    lab.site("late.example", site="page", type="text/plain", body="A page too late.")
    steps = QUOTA.run_max // QUOTA.step_max
    for number in range(steps):
        context = fleet.context(project=project, run=run, step=f"s-{number}")
        budgets = [
            fleet.fetch("http://cheap.example/", context=context)["value"]["budget"] for _ in range(QUOTA.step_max)
        ]
        assert [budget["step"] for budget in budgets] == list(reversed(range(QUOTA.step_max)))
        assert budgets[-1]["run"] == QUOTA.run_max - (number + 1) * QUOTA.step_max
        late = fleet.fetch("http://late.example/", context=context)
        spent = "run" if number + 1 == steps else "step"  # the run is looked at first
        assert (late["outcome"], late["error"]["code"]) == ("refused", f"{spent}_quota_exhausted")
    fresh = fleet.context(project=project, run=run, step="s-fresh")
    late = fleet.fetch("http://late.example/", context=fresh)
    assert (late["outcome"], late["error"]["code"]) == ("refused", "run_quota_exhausted")
    assert lab.queries("late.example") == []
    assert sum(lab.hits("cheap.example").values()) == QUOTA.run_max


def test_racing_calls_are_admitted_up_to_the_quota_and_no_further(fleet: Fleet, lab: LabControl) -> None:
    """M142, M147: 200 callers of one step race for 40 reservations; those who find it busy ask again."""
    context = fleet.context(project=fleet.project())
    hosts = [f"racer-{number}.example" for number in range(CALLERS)]
    lab.site(*hosts, site="page", type="text/plain", body="A page for a racer.", A=["93.184.77.2"])
    racing: set[str] = set(hosts)
    ends: dict[str, str | None] = {}
    while racing:
        handles = {host: fleet.send(f"http://{host}/", context=context) for host in racing}
        for host, handle in handles.items():
            envelope = fleet.reply(handle)
            code = None if envelope["error"] is None else envelope["error"]["code"]
            if code != "project_busy":
                ends[host] = code
        racing -= set(ends)
    winners = {host for host, code in ends.items() if code is None}
    assert Counter(ends.values()) == {None: QUOTA.step_max, "step_quota_exhausted": CALLERS - QUOTA.step_max}
    assert {query["name"] for query in lab.queries()} == winners
    assert lab.hits() == {f"{host}/": 1 for host in winners}
