"""At most once, under fire: killed workers and restarted stores, with the counting origin as the witness.

X1, X7, C10, M150, M151. Nothing in the product knows of these faults: a lock held in PostgreSQL keeps a call before its
admission, a silent DNS server after it, a gate at the origin in the middle of a body, a frozen result store after its
settling.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg2
import pytest

from broker.ledger.operations import find_ended
from broker.ledger.overview import OperationView, read_operation
from broker.settings import Settings
from ops.lab.control import LabControl
from schemas.operation import OperationState
from tests.fleet import Fleet, running_fleet, wait_until
from tests.stores import store_of, unread

LEASE_SECONDS = 45
FINALIZER_SECONDS = 5
FINAL_SECONDS = LEASE_SECONDS + 2 * FINALIZER_SECONDS
REDELIVERY_SECONDS = 90
RUNNING = 50


@pytest.fixture
def own_fleet(lab: LabControl, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet that may be hurt."""
    assert lab.canaries() == []
    with running_fleet(tmp_path / "fleet", "--port-base", "7000") as fleet:
        yield fleet


@contextmanager
def admission_blocked(settings: Settings, project: str, key: str) -> Iterator[None]:
    """Holds the lock that every admission of this call must take; what waits for it at the end never was."""
    connection = psycopg2.connect(settings.database_url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (f"{project} {key}",))
            yield
            # A killed worker's statement waits on in the server, and would admit the call for nobody.
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'advisory'")
    finally:
        connection.close()


def pending(settings: Settings, key: str) -> str | None:
    """The id of a call's operation, looked up without finalizing it."""
    connection = psycopg2.connect(settings.database_url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id::text FROM operations WHERE key = %s", (key,))
            row = cursor.fetchone()
            return None if row is None else str(row[0])
    finally:
        connection.close()


def state_of(fleet: Fleet, operation_id: str) -> OperationState:
    view: OperationView | None = read_operation(fleet.ledger, operation_id)
    assert view is not None
    return view.state


class Stranded:
    """Four calls, each held at another edge of its walk, whose workers are then killed in one blow."""

    def __init__(self, fleet: Fleet, lab: LabControl) -> None:
        self.fleet, self.lab, self.tag = fleet, lab, uuid4().hex[:8]
        self.late = f"late-{self.tag}.example"
        self.urls = {
            "before": f"https://counted.example/before-{self.tag}",
            "admitted": f"https://{self.late}/",
            "body": f"https://counted.example/half/{self.tag}-body",
            "settled": f"https://counted.example/hold/{self.tag}",
        }
        self.context = {name: fleet.context(call=f"{name}-{self.tag}", project=fleet.project()) for name in self.urls}
        lab.dns(self.late, A={"silent": True}, AAAA={"silent": True})

    def strand(self) -> None:
        """Bring each call to its edge, then SIGKILL all that fetch."""
        results = store_of(self.fleet, "results")
        before = self.context["before"]
        with admission_blocked(self.fleet.settings, before["project"], before["call"]):
            for name in ("before", "body", "settled"):
                self.fleet.send(self.urls[name], context=self.context[name])
            self.lab.await_requests(f"/half/{self.tag}-body")
            self.lab.await_requests(f"/hold/{self.tag}")
            self.fleet.send(self.urls["admitted"], context=self.context["admitted"])  # last: a lookup has 5 s
            self.ids = {name: wait_until(lambda name=name: self._id(name)) for name in ("admitted", "body", "settled")}
            wait_until(lambda: self.lab.queries(self.late), what="the admitted call has asked DNS")
            results.suspend()
            self.lab.release(self.tag)
            wait_until(lambda: self.state("settled") == "completed", what="the held call has settled")
            for worker in self.fleet.workers():
                worker.kill()
        results.resume()

    def again(self, name: str) -> dict[str, Any]:
        """The same call once more."""
        return self.fleet.fetch(self.urls[name], context=self.context[name])

    def state(self, name: str) -> OperationState:
        return state_of(self.fleet, self.ids[name])

    def hits(self) -> dict[str, int]:
        """How often the origin was asked for each, by its own book."""
        seen = {name: len(self.lab.requests(url.partition(".example")[2])) for name, url in self.urls.items()}
        return seen | {"admitted": len(self.lab.requests(host=self.late))}

    def _id(self, name: str) -> str | None:
        return pending(self.fleet.settings, self.context[name]["call"])


def test_killed_worker_s_calls_are_sent_at_most_once_and_each_ends_once(own_fleet: Fleet, lab: LabControl) -> None:
    """X1: SIGKILL before admission, after it, in the middle of a body, and after settling."""
    calls = Stranded(own_fleet, lab)
    calls.strand()
    assert [calls.state(name) for name in ("admitted", "body", "settled")] == ["pending", "pending", "completed"]
    assert calls.again("settled")["error"]["code"] == "reply_not_kept"
    assert calls.again("body")["error"]["code"] == "operation_in_progress"
    assert calls.again("before")["outcome"] == "completed"
    for name in ("admitted", "body"):  # by the finalization task: nobody looks at them meanwhile
        wait_until(lambda name=name: calls.state(name) == "outcome_unknown", seconds=FINAL_SECONDS, what=name)
        again = calls.again(name)
        assert (again["outcome"], again["receipt"]["sent"], again["replayed"]) == ("unknown", "unknown", True)
    wait_until(lambda: unread(own_fleet) == 0, seconds=REDELIVERY_SECONDS + 30, what="the killed messages came back")
    assert calls.hits() == {"before": 1, "admitted": 0, "body": 1, "settled": 1}
    assert [calls.state(name) for name in calls.ids] == ["outcome_unknown", "outcome_unknown", "completed"]


def test_restarted_stores_lose_no_call_and_repeat_none(own_fleet: Fleet, lab: LabControl) -> None:
    """X1, M151: Valkey killed twice and PostgreSQL crashed under fifty running fetches; no worker exits."""
    fleet = own_fleet
    projects = [fleet.project() for _ in range((RUNNING + 2) // 3)]
    contexts = [fleet.context(project=projects[n // 3], call=f"c-{n}-{uuid4().hex[:6]}") for n in range(RUNNING)]
    handles = [fleet.send(f"https://counted.example/hold/storm?n={n}", context=contexts[n]) for n in range(RUNNING)]
    wait_until(lambda: len(lab.requests(host="counted.example")) == RUNNING, seconds=25, what="fifty are running")
    workers = {process.pid for process in fleet.workers()}

    for name, number in (("broker", signal.SIGKILL), ("postgres", signal.SIGQUIT), ("results", signal.SIGKILL)):
        store = store_of(fleet, name)
        store.send_signal(number)
        wait_until(lambda name=name, old=store: store_of(fleet, name) != old, seconds=20, what=f"{name} is back")
    lab.release("storm")

    envelopes = [fleet.reply(handle, seconds=110) for handle in handles]
    assert {process.pid for process in fleet.workers()} == workers
    ends = [(envelope["outcome"], (envelope["error"] or {}).get("code")) for envelope in envelopes]
    assert set(ends) <= {("completed", None), ("failed", "reply_not_kept")}
    assert [find_ended(fleet.ledger, c["project"], c["call"]).state for c in contexts] == ["completed"] * RUNNING
    assert len(lab.requests(host="counted.example")) == RUNNING
    again = [fleet.fetch(f"https://counted.example/hold/storm?n={n}", context=contexts[n]) for n in (0, RUNNING - 1)]
    assert {envelope["error"]["code"] for envelope in again} == {"reply_not_kept"}
    assert len(lab.requests(host="counted.example")) == RUNNING


def test_frozen_worker_cannot_overwrite_what_was_written_meanwhile(own_fleet: Fleet, lab: LabControl) -> None:
    """X2: SIGSTOP past the lease, finalized, SIGCONT: the late result is dropped and never given as the answer."""
    fleet, tag = own_fleet, uuid4().hex[:8]
    context = fleet.context(call=f"zombie-{tag}")
    handle = fleet.send(f"https://counted.example/hold/{tag}", context=context)
    lab.await_requests(f"/hold/{tag}")
    operation = wait_until(lambda: pending(fleet.settings, context["call"]))
    workers = fleet.workers()
    for worker in workers:
        worker.suspend()
    lab.release(tag)
    wait_until(
        lambda: state_of(fleet, operation) == "outcome_unknown", seconds=FINAL_SECONDS, what="the finalizer was there"
    )
    kept = find_ended(fleet.ledger, "local", context["call"])
    for worker in workers:
        worker.resume()
    envelope: dict[str, Any] = fleet.reply(handle, seconds=60)
    assert (envelope["outcome"], envelope["value"]) == ("unknown", None)
    assert find_ended(fleet.ledger, "local", context["call"]) == kept
    assert len(lab.requests(f"/hold/{tag}")) == 1
