"""The outbox through its doors: what is accepted ends, is sent at most once, and leaves nothing of its request.

X1, M119, M148, M154. The origin's own book is the witness of what was sent.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg2
import pytest

from broker import intake, outbox
from broker.intake import Handle
from ops.lab.control import LabControl
from schemas.operation import Post
from tests.fleet import HOUSE, Fleet, running_fleet, wait_until
from tests.stores import broker_of, rows, store_of, unread

SWEPT_SECONDS = (
    40.0  # ten seconds until a message counts as lost, five until the sweeper's turn; the rest is a busy machine
)


@pytest.fixture(scope="module")
def hurt_fleet(whole_lab: LabControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet that may be hurt."""
    assert whole_lab.folder.is_dir()
    with running_fleet(tmp_path_factory.mktemp("outbox") / "fleet", "--port-base", "7100") as fleet:
        yield fleet


@pytest.fixture
def hurt(hurt_fleet: Fleet, lab: LabControl) -> Iterator[Fleet]:
    """That fleet; after each test nothing of any request is left (M119, M154), and no message either."""
    assert lab.canaries() == []
    yield hurt_fleet
    wait_until(lambda: unread(hurt_fleet) == 0, seconds=60, what="every copy was read")
    live = "SELECT count(*) FROM operations WHERE state IN ('accepted', 'pending')"
    assert rows(hurt_fleet, live) == [(0,)]
    assert rows(hurt_fleet, "SELECT count(*) FROM requests") == [(0,)]


@contextmanager
def stopped_workers(fleet: Fleet) -> Iterator[None]:
    """All that fetch stand still while the block runs; a message for them waits, or lies in a socket of theirs."""
    workers = fleet.workers()
    for worker in workers:
        worker.suspend()
    try:
        yield
    finally:
        for worker in workers:
            if worker.is_running():
                worker.resume()


def state_of(fleet: Fleet, handle: Handle) -> str:
    """Looked up without finalizing anything."""
    [[state]] = rows(fleet, "SELECT state FROM operations WHERE id = %s", handle.operation)
    return str(state)


def wait_for_state(fleet: Fleet, handle: Handle, state: str, seconds: float = SWEPT_SECONDS) -> None:
    wait_until(lambda: state_of(fleet, handle) == state, seconds=seconds, what=f"{handle.operation} is {state}")


def test_accepted_call_gives_the_page_and_leaves_a_receipt(hurt: Fleet, lab: LabControl) -> None:
    handle = hurt.accept("https://text.example/")
    envelope = hurt.reply(handle)
    assert (envelope["outcome"], envelope["operation"], envelope["replayed"]) == ("completed", handle.operation, False)
    assert envelope["value"]["content"].startswith("A plain text.")
    assert envelope["receipt"]["sent"] == "sent"
    assert lab.hits("text.example") == {"text.example/": 1}


def test_flushed_broker_loses_no_accepted_call(hurt: Fleet, lab: LabControl) -> None:
    """FLUSHALL with one call running and six queued: nobody looks, and all end, each sent once."""
    tag = uuid4().hex[:8]
    running = hurt.accept(f"https://counted.example/hold/{tag}")
    lab.await_requests(f"/hold/{tag}")
    projects = [hurt.project() for _ in range(2)]
    with stopped_workers(hurt):
        queued = [
            hurt.accept(f"https://counted.example/{tag}-{n}", context=hurt.context(project=projects[n % 2]))
            for n in range(6)
        ]
        with broker_of(hurt) as store:
            assert store.llen("fetch") >= 4  # each stopped worker's last BRPOP takes one
            store.flushall()
            assert store.llen("fetch") == 0
    lab.release(tag)
    for handle in (running, *queued):
        wait_for_state(hurt, handle, "completed")
    assert [hurt.reply(handle)["outcome"] for handle in (running, *queued)] == ["completed"] * 7
    assert [len(lab.requests(f"/{tag}-{n}")) for n in range(6)] == [1] * 6
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_message_that_was_popped_by_a_worker_that_is_killed_is_posted_again(hurt: Fleet, lab: LabControl) -> None:
    """notes: a message between BRPOP and the book of the unacknowledged is nowhere when its worker dies."""
    tag = uuid4().hex[:8]
    workers = hurt.workers()
    with stopped_workers(hurt):
        handles = [hurt.accept(f"https://counted.example/{tag}-{n}") for n in range(3)]
        with broker_of(hurt) as store:
            wait_until(lambda: store.llen("fetch") < 3, what="a stopped worker's BRPOP was answered")
            assert store.hlen("unacked") == 0
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
    for handle in handles:
        wait_for_state(hurt, handle, "completed", seconds=60)
    assert [hurt.reply(handle)["outcome"] for handle in handles] == ["completed"] * 3
    assert [len(lab.requests(f"/{tag}-{n}")) for n in range(3)] == [1] * 3


def test_fetch_is_answered_when_the_broker_cannot_be_reached_at_first(
    hurt: Fleet, lab: LabControl, tmp_path: Path
) -> None:
    """The command's post fails; the call is accepted all the same, and a later post does not."""
    socket, said = hurt.root / "run" / "broker.sock", tmp_path / "stderr"
    away = socket.with_suffix(".away")
    command = [sys.executable, "-m", "ops", "fetch", "https://text.example/", "--json"]
    socket.rename(away)
    try:
        with said.open("w") as stderr:
            client = subprocess.Popen(
                command, cwd=HOUSE, env=hurt.environment(), stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        wait_until(lambda: "queued" in said.read_text().splitlines(), seconds=40, what="the post has failed")
        assert lab.hits("text.example") == {}
        assert rows(hurt, "SELECT state FROM operations WHERE state IN ('accepted', 'pending')") == [("accepted",)]
    finally:
        away.rename(socket)
    out, _ = client.communicate(timeout=60)
    assert (client.returncode, json.loads(out)["outcome"]) == (0, "completed")
    assert lab.hits("text.example") == {"text.example/": 1}


CLIENT = """
import sys
from broker import intake, settings
from broker.ledger.engine import ledger_engine
from ops.stack import home
from ops.stack.sharing import joined
found = settings.Settings()
found = joined(found, home.read_state(found.home))
settings.install(found)
context = {"project": "local", "agent": "cli", "run": "r-" + sys.argv[1], "step": "s", "call": sys.argv[1]}
ledger = ledger_engine(found.require_database_url(), size=1)
intake.submit("web_fetch", {"url": "https://counted.example/" + sys.argv[1]}, context, ledger=ledger)
"""


def test_call_of_a_client_that_dies_between_commit_and_post_is_carried_out(hurt: Fleet, lab: LabControl) -> None:
    """A broker that stands still keeps the client at its post; then it is killed."""
    tag = f"orphan-{uuid4().hex[:8]}"
    broker = store_of(hurt, "broker")
    broker.suspend()
    try:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, tag], cwd=HOUSE, env=hurt.environment(), stderr=subprocess.DEVNULL
        )
        find = "SELECT id::text FROM operations WHERE key = %s"
        [[operation]] = wait_until(lambda: rows(hurt, find, tag), seconds=30, what="accepted")
        client.kill()
        client.wait()
    finally:
        broker.resume()
    states = "SELECT state FROM operations WHERE id = %s"
    wait_until(lambda: rows(hurt, states, operation) == [("completed",)], seconds=60, what="carried out")
    assert len(lab.requests(f"/{tag}")) == 1


def test_sixteen_copies_of_one_message_send_one_request(hurt: Fleet, lab: LabControl) -> None:
    tag = uuid4().hex[:8]
    with stopped_workers(hurt):
        handle = hurt.accept(f"https://counted.example/hold/{tag}")
        for _ in range(16):
            outbox.post(Post(operation_id=str(handle.operation), tool=handle.tool, task_id=handle.task_id))
    lab.await_requests(f"/hold/{tag}")
    wait_until(lambda: unread(hurt) == 1, seconds=20, what="the copies were dropped while one is carried out")
    lab.release(tag)
    envelope = hurt.reply(handle)
    assert (envelope["outcome"], envelope["replayed"]) == ("completed", False)
    assert len(lab.requests(f"/hold/{tag}")) == 1


def test_copy_of_an_ended_call_s_message_sends_nothing(hurt: Fleet, lab: LabControl) -> None:
    handle = hurt.accept("https://text.example/")
    assert hurt.reply(handle)["outcome"] == "completed"
    outbox.post(Post(operation_id=str(handle.operation), tool=handle.tool, task_id=handle.task_id))
    wait_until(lambda: unread(hurt) == 0, what="the copy was read")
    assert lab.hits("text.example") == {"text.example/": 1}


def test_call_that_nobody_began_is_taken_back(hurt: Fleet, lab: LabControl) -> None:
    with stopped_workers(hurt):
        handle = hurt.accept("https://text.example/")
        envelope = intake.cancel(handle, hurt.ledger)
        assert envelope is not None
        assert (envelope["outcome"], envelope["error"]["code"]) == ("cancelled", "cancelled")
        assert (envelope["receipt"]["sent"], state_of(hurt, handle)) == ("not_sent", "cancelled")
    wait_until(lambda: unread(hurt) == 0, what="its message was read")
    assert lab.hits("text.example") == {}


def test_call_that_nobody_began_is_taken_back_when_its_client_waits_no_longer(hurt: Fleet, lab: LabControl) -> None:
    with stopped_workers(hurt):
        handle = hurt.accept("https://text.example/")
        envelope = hurt.reply(handle, seconds=0.5)
    assert (envelope["outcome"], envelope["receipt"]["sent"]) == ("cancelled", "not_sent")
    wait_until(lambda: unread(hurt) == 0, what="its message was read")
    assert lab.hits("text.example") == {}


def test_submitting_the_same_call_again_is_answered_from_the_ledger(hurt: Fleet, lab: LabControl) -> None:
    context = hurt.context(call=f"again-{uuid4().hex[:8]}")
    with stopped_workers(hurt):
        handle = hurt.accept("https://text.example/", context=context)
        again = hurt.reply(hurt.accept("https://text.example/", context=context))
        other = hurt.reply(hurt.accept("https://text.example/other", context=context))
    assert (again["error"]["code"], again["operation"]) == ("operation_in_progress", handle.operation)
    assert other["error"]["code"] == "call_conflict"
    assert hurt.reply(handle)["outcome"] == "completed"
    stored = hurt.reply(hurt.accept("https://text.example/", context=context))
    raw = hurt.fetch("https://text.example/", context=context)
    assert [end["error"]["code"] for end in (stored, raw)] == ["reply_not_kept"] * 2
    assert lab.hits("text.example") == {"text.example/": 1}


def dropped(fleet: Fleet, handle: Handle) -> bool:
    """Whether a worker has said so."""
    return any("delivery_dropped" in line and handle.task_id in line for line in fleet.logs().splitlines())


def test_delivery_that_the_ledger_does_not_answer_is_dropped_and_the_call_carried_out(
    hurt: Fleet, lab: LabControl
) -> None:
    """Its admission waits for a lock until its patience is over; nothing is said to the client, and a copy rides."""
    tag = uuid4().hex[:8]
    context = hurt.context(call=f"locked-{tag}")
    with closing(psycopg2.connect(hurt.settings.database_url)) as holder, holder.cursor() as cursor:
        with stopped_workers(hurt):
            handle = hurt.accept(f"https://counted.example/{tag}", context=context)
            key = f"{context['project']} {context['call']}"
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (key,))
        wait_until(lambda: dropped(hurt, handle), seconds=60, what="the first delivery was dropped")
        assert (state_of(hurt, handle), lab.requests(f"/{tag}")) == ("accepted", [])
    assert hurt.reply(handle)["outcome"] == "completed"
    assert len(lab.requests(f"/{tag}")) == 1
