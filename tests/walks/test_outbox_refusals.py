"""Refusals of accepted calls: each ends with a code and a receipt, sends nothing and counts for nothing (M148)."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from broker import intake, settings
from broker.app import app
from broker.ledger.projects import Project, save_project
from ops.lab.control import LabControl
from tests.fleet import Fleet, wait_until
from tests.stores import rows


@pytest.fixture(autouse=True)
def nothing_is_left(fleet: Fleet, lab: LabControl) -> Iterator[None]:
    """M119, M154: no request outlives its call."""
    del lab
    yield
    assert rows(fleet, "SELECT count(*) FROM requests") == [(0,)]


def refused(fleet: Fleet, envelope: dict[str, Any], code: str) -> None:
    """It says so in the envelope, in the ledger and in the receipt; nothing was counted."""
    assert (envelope["outcome"], envelope["error"]["code"], envelope["replayed"]) == ("refused", code, False)
    assert envelope["receipt"]["sent"] == "not_sent"
    found = rows(fleet, "SELECT state, code, sent, run FROM operations WHERE id = %s", envelope["operation"])
    [(state, stored_code, sent, run)] = found
    assert (state, stored_code, sent) == ("refused", code, "not_sent")
    assert rows(fleet, "SELECT count(*) FROM counters WHERE name = %s AND used < 40", run) == [(0,)]


@pytest.mark.parametrize(
    ("agents", "code"), [(None, "capability_disabled"), (("somebody",), "agent_not_permitted")], ids=["off", "agent"]
)
def test_call_without_permission_ends_refused(
    fleet: Fleet, lab: LabControl, agents: tuple[str, ...] | None, code: str
) -> None:
    name = f"p-{uuid4().hex[:8]}"
    if agents:
        save_project(fleet.ledger, Project(id=name, enabled=True, fetch_enabled=True, agents=agents), actor="test")
    envelope = fleet.reply(fleet.accept("https://text.example/", context=fleet.context(project=name)))
    refused(fleet, envelope, code)
    assert lab.queries() == []


@pytest.mark.parametrize(("scope", "limit"), [("step", 40), ("run", 200)])
def test_call_beyond_its_quota_ends_refused(fleet: Fleet, lab: LabControl, scope: str, limit: int) -> None:
    context = fleet.context()
    name = context["run"] if scope == "run" else f"{context['run']}/{context['step']}"
    insert = "INSERT INTO counters (project, family, scope, name, used) VALUES ('local', 'fetch', %s, %s, %s)"
    rows(fleet, insert, scope, name, limit)
    envelope = fleet.reply(fleet.accept("https://text.example/", context=context))
    refused(fleet, envelope, f"{scope}_quota_exhausted")
    assert envelope["error"]["facts"] == {"limit": limit}
    assert lab.queries() == []


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1/", "blocked_address"),
        ("no-url", "invalid_url"),
        ("https://text.example/?token=x", "secret_in_url"),
        ("https://text.example:8443/", "unsupported_port"),
    ],
)
def test_call_that_the_guard_refuses_costs_nothing(fleet: Fleet, lab: LabControl, url: str, code: str) -> None:
    refused(fleet, fleet.reply(fleet.accept(url)), code)
    assert lab.queries() == []


@pytest.mark.parametrize(
    ("arguments", "context"),
    [
        ({}, {}),
        ({"url": 7}, {}),
        ({"url": "https://text.example/", "more": 1}, {}),
        ({"url": "x"}, {"agent": "no id!"}),
    ],
    ids=["empty", "number", "unknown-field", "context"],
)
def test_bad_arguments_are_refused_before_anything_is_stored(
    fleet: Fleet, lab: LabControl, arguments: dict[str, Any], context: dict[str, str]
) -> None:
    [[before]] = rows(fleet, "SELECT count(*) FROM operations")
    handle = intake.submit("web_fetch", arguments, fleet.context(**context), ledger=fleet.ledger)
    envelope = fleet.reply(handle)
    assert (envelope["outcome"], envelope["error"]["code"], envelope["receipt"]) == (
        "refused",
        "invalid_arguments",
        None,
    )
    assert rows(fleet, "SELECT count(*) FROM operations") == [(before,)]
    assert lab.queries() == []


def test_call_of_a_busy_project_is_put_off_until_a_slot_is_free(fleet: Fleet, lab: LabControl) -> None:
    """M144: three run, the fourth waits in the ledger, and rides when one has ended."""
    tag, project = uuid4().hex[:8], fleet.project()
    held = [
        fleet.accept(f"https://counted.example/hold/{tag}?n={n}", context=fleet.context(project=project))
        for n in range(3)
    ]
    wait_until(lambda: len(lab.requests(host="counted.example")) == 3, seconds=20, what="three run")
    fourth = fleet.accept(f"https://counted.example/{tag}", context=fleet.context(project=project))
    put_off = "SELECT state FROM operations WHERE id = %s AND post_at > clock_timestamp() + interval '10 seconds'"
    wait_until(lambda: rows(fleet, put_off, fourth.operation) == [("accepted",)], seconds=20, what="it is put off")
    assert lab.requests(f"/{tag}") == []
    lab.release(tag)
    assert [fleet.reply(handle)["outcome"] for handle in held] == ["completed"] * 3
    assert fleet.reply(fourth)["outcome"] == "completed"
    assert len(lab.requests(f"/{tag}")) == 1


def test_call_of_a_project_that_stays_busy_ends_refused(fleet: Fleet, lab: LabControl) -> None:
    """It has waited for its time, as if it had come a minute and a half ago."""
    tag, project = uuid4().hex[:8], fleet.project()
    held = [
        fleet.accept(f"https://counted.example/hold/{tag}?n={n}", context=fleet.context(project=project))
        for n in range(3)
    ]
    wait_until(lambda: len(lab.requests(host="counted.example")) == 3, seconds=20, what="three run")
    trigger = f"early_{tag}"
    rows(
        fleet,
        f"CREATE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.accepted_at := "
        "NEW.accepted_at - interval '90 seconds'; RETURN NEW; END $$; "
        f"CREATE TRIGGER {trigger} BEFORE INSERT ON operations FOR EACH ROW "
        f"WHEN (NEW.project = '{project}') EXECUTE FUNCTION {trigger}()",
    )
    try:
        envelope = fleet.reply(fleet.accept("https://text.example/", context=fleet.context(project=project)))
    finally:
        rows(fleet, f"DROP TRIGGER {trigger} ON operations; DROP FUNCTION {trigger}()")
    refused(fleet, envelope, "project_busy")
    lab.release(tag)
    assert [fleet.reply(handle)["outcome"] for handle in held] == ["completed"] * 3
    assert lab.hits("text.example") == {}


@pytest.fixture
def another_key(fleet: Fleet) -> Iterator[None]:
    """This process seals with a key that the fleet does not have."""
    other = SecretStr(b64encode(b"k" * 32).decode())
    settings.install(fleet.settings.model_copy(update={"seal_key": other}))
    yield
    settings.install(fleet.settings)


def test_request_under_another_key_is_refused_and_sends_nothing(
    fleet: Fleet, lab: LabControl, another_key: None
) -> None:
    refused(fleet, fleet.reply(fleet.accept("https://text.example/")), "request_unreadable")
    assert lab.queries() == []


ALTERED = {
    "one-byte": "UPDATE requests SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20))",
    "swapped": "UPDATE requests r SET sealed = o.sealed FROM requests o WHERE r.operation_id <> o.operation_id",
    "empty": "UPDATE requests SET sealed = substr(sealed, 1, 31)",
    "of-another-form": "UPDATE requests SET sealed = set_byte(sealed, 0, 2)",
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_request_is_refused_and_sends_nothing(fleet: Fleet, lab: LabControl, name: str) -> None:
    """One byte of it, its end cut off, or the whole of it laid under another call."""
    workers = fleet.workers()
    for worker in workers:
        worker.suspend()
    try:
        handles = [fleet.accept(f"https://text.example/?n={n}") for n in range(2)]
        rows(fleet, ALTERED[name])
    finally:
        for worker in workers:
            worker.resume()
    for handle in handles:
        refused(fleet, fleet.reply(handle), "request_unreadable")
    assert lab.queries() == []


@pytest.mark.parametrize(
    "named",
    [
        {"operation": 7},
        {"operation": None},
        {"operation": "no id"},
        {"operation": "6a1f1f0e-0000-4000-8000-000000000000"},
        {"operation": "6a1f1f0e-0000-4000-8000-000000000000", "context": {}},
        {"operation": {"id": 1}, "arguments": {}},
    ],
    ids=["number", "null", "words", "unknown", "with-context", "with-arguments"],
)
def test_message_of_another_shape_is_refused(fleet: Fleet, lab: LabControl, named: dict[str, Any]) -> None:
    result = app.send_task("web_fetch", kwargs=named)
    envelope = result.get(timeout=30)
    result.forget()
    assert (envelope["outcome"], envelope["error"]["code"]) == ("refused", "invalid_arguments")
    assert lab.queries() == []
