"""Leaving: a worker that is asked to go loses nothing, repeats nothing, and one that lost a thread replaces itself.

X1, M150, M151: SIGTERM once and twice, SIGQUIT, `outrider drain HOST`, a broker that dies meanwhile, a stuck thread.
"""

import signal
from collections.abc import Iterator

import pytest

from broker.app import app
from broker.intake import Handle
from ops.lab.control import LabControl
from ops.stack import child
from ops.stack.supervisor import Supervisor
from tests.faults.leaving import Crew, crew_of
from tests.faults.stores import Stores
from tests.faults.table import Row
from tests.fleet import wait_until

LONG_SECONDS = 45.0  # the product's own lease: nothing may depend on its end
SHORT_SECONDS = 12.0  # for who waits for it
BRIEF_SECONDS = 8.0  # for who waits for a redelivery, which takes twice as long


Table = dict[str, list[Row]]
SECTION = "leaving"


@pytest.fixture
def crew(stores: Stores, lab: LabControl) -> Iterator[Crew]:
    """Workers that may be hurt; when all is over no message is left."""
    with crew_of(stores, lab) as made:
        yield made
        wait_until(lambda: made.unacknowledged() + made.waiting() == 0, seconds=60, what="every message was read")


def outcomes(crew: Crew, handles: list[Handle]) -> list[str]:
    return [crew.reply(handle)["outcome"] for handle in handles]


def crowd(crew: Crew) -> tuple[list[Handle], Handle, list[Handle]]:
    """Four calls that fill the worker `first`, one whose turn has come and that finds no thread, three that wait."""
    busy = crew.project()
    running = [crew.held(n, project=busy, accepted=n == 0) for n in range(3)]
    put_off = crew.call(f"/{crew.tag}-put-off", accepted=True, project=busy)
    wait_until(lambda: crew.unacknowledged() == 4 and crew.running("first") == 3, what="it pauses in the worker")
    running.append(crew.held(3))
    wait_until(lambda: crew.running("first") == 5, seconds=20, what="its pause is over")
    return running, put_off, [crew.call(f"/{crew.tag}-{n}", accepted=n == 0) for n in range(3)]


def test_sigterm_finishes_what_runs_and_gives_the_rest_back(crew: Crew, table: Table) -> None:
    """X1, M151: what waits is another worker's before the first one has finished what it runs."""
    first = crew.hire("first", lease_seconds=LONG_SECONDS)
    running, put_off, waiting = crowd(crew)
    first.tell(signal.SIGTERM)
    crew.wait_for_word("first", "door_closed")
    wait_until(lambda: crew.unacknowledged() == 4, what="it holds what runs, and nothing else")
    crew.hire("second", lease_seconds=LONG_SECONDS)
    assert outcomes(crew, waiting) == ["completed"] * 3
    assert first.ended() is None
    for n in range(4):
        crew.release(n)

    assert outcomes(crew, [*running, put_off]) == ["completed"] * 5
    assert crew.gone("first") == 0
    assert len(crew.words("first", "drained")) == 1
    assert [line["outcome"] for line in crew.words("first", "call_closed")].count("completed") == 4
    assert crew.hits() == [1] * 8
    table.setdefault(SECTION, []).append(crew.row("SIGTERM: 4 running, 1 put off, 3 waiting"))


HURRIES = (
    pytest.param((signal.SIGTERM, signal.SIGTERM), 50, id="twice"),
    pytest.param((signal.SIGQUIT,), 50, id="sigquit"),
    pytest.param((signal.SIGTERM,), 2, id="once_and_not_done_in_time", marks=pytest.mark.long),
)


@pytest.mark.parametrize(("numbers", "drain_seconds"), HURRIES)
def test_worker_in_a_hurry_leaves_at_once_and_repeats_nothing(
    crew: Crew, numbers: tuple[signal.Signals, ...], drain_seconds: int, table: Table
) -> None:
    """X1, X2, M150: the transfers under way end unknown, the waiting calls are another worker's, each sent once."""
    first = crew.hire("first", lease_seconds=SHORT_SECONDS, drain_seconds=drain_seconds)
    running, put_off, waiting = crowd(crew)
    for number in numbers:
        first.tell(number)
        crew.wait_for_word("first", "door_closed")
    assert crew.gone("first", seconds=20) == 0
    assert crew.unacknowledged() == 0

    crew.hire("second", lease_seconds=SHORT_SECONDS)
    assert outcomes(crew, waiting) == ["completed"] * 3
    replies = [crew.reply(handle) for handle in running]
    said = {(one["outcome"], one["value"], one["receipt"]["sent"]) for one in replies}
    assert said == {("unknown", None, "unknown")}
    assert crew.reply(put_off)["outcome"] == "completed"
    assert [line["running"] for line in crew.words("first", "left_to_the_ledger")] == [4]
    assert crew.hits() == [1] * 8
    blow = ", ".join(number.name for number in numbers)
    row = crew.row(f"{blow}, {drain_seconds} s to drain: 4 running, 1 put off, 3 waiting")
    assert row.ends == "4 completed, 4 outcome_unknown"
    table.setdefault(SECTION, []).append(row)


def test_draining_worker_takes_nothing_from_a_broker_that_comes_back(crew: Crew, table: Table) -> None:
    """X1: the connection is made anew while the door is closed, and brings no new call in."""
    first = crew.hire("first", lease_seconds=LONG_SECONDS)
    running = crew.held(0)
    first.tell(signal.SIGTERM)
    crew.wait_for_word("first", "door_closed")
    crew.stores.children["broker"].tell(signal.SIGKILL)
    wait_until(lambda: crew.log("first").count("Connected to") == 2, seconds=60, what="it is connected again")
    before = crew.booked()
    waiting = [crew.call(f"/{crew.tag}-{n}") for n in range(3)]
    assert crew.running("first") == 1
    crew.release(0)
    assert crew.reply(running)["outcome"] == "completed"
    assert crew.gone("first") == 0
    assert crew.booked() - before < 50  # care's own, one in 3 s; taking and giving back would be hundreds
    assert [line["outcome"] for line in crew.words("first", "call_closed")] == ["completed"]
    crew.hire("second", lease_seconds=BRIEF_SECONDS)
    assert outcomes(crew, waiting) == ["completed"] * 3
    assert crew.hits() == [1] * 4
    table.setdefault(SECTION, []).append(crew.row("SIGTERM, then the broker killed: 1 running, 3 waiting"))


def test_drain_command_tells_what_still_runs_and_when_it_is_over(crew: Crew) -> None:
    """DESIGN section 4: `outrider drain HOST`, `outrider status --worker HOST`, their words and exit codes."""
    crew.hire("first", lease_seconds=LONG_SECONDS)
    name = crew.name("first")
    running = crew.held(0)
    app.send_task("web_fetch", kwargs={}, countdown=600)
    wait_until(lambda: crew.unacknowledged() == 2, what="the worker holds what is not due for long")
    ready = crew.command("status", "--worker", name)
    assert (ready.returncode, ready.stdout) == (0, f"{name}: ready, 1 running\n")

    early = crew.command("drain", crew.tag, "--timeout", "1")
    assert early.returncode == 3
    assert f"{name}: takes no more calls, 1 still running" in early.stderr
    assert early.stderr.splitlines()[-1] == f"after 1 s still draining, and going on with it: {name}"
    assert (crew.unacknowledged(), crew.waiting()) == (1, 1)
    draining = crew.command("status", "--worker", crew.tag)
    assert (draining.returncode, draining.stdout) == (3, f"{name}: draining, 1 running\n")

    with crew.start("drain", name) as command:
        assert command.stderr is not None
        assert command.stderr.readline() == f"{name}: takes no more calls, 1 still running\n"
        crew.release(0)
        assert command.stderr.read().splitlines()[-1] == f"{name}: drained"
    assert command.returncode == 0
    assert crew.reply(running)["outcome"] == "completed"
    assert crew.gone("first") == 0
    assert crew.waiting() == 1
    crew.broker.delete("fetch")


def test_drain_of_a_host_that_is_not_there_says_who_is(crew: Crew) -> None:
    """A mistyped host drains nobody."""
    crew.hire("first", lease_seconds=LONG_SECONDS)
    asked = (("drain", "elsewhere"), ("status", "--worker", "elsewhere"), ("drain", "first"))
    for words, running in [(words, crew.start(*words)) for words in asked]:
        with running:
            _out, said = running.communicate(timeout=60)
        assert running.returncode == 3
        assert f"no worker of {words[-1]} answers; those that do: " in said
        assert crew.name("first") in said
    handle = crew.call(f"/{crew.tag}-still-served")
    assert crew.reply(handle)["outcome"] == "completed"
    assert crew.hits() == [1]


def test_worker_with_a_thread_stuck_past_its_lease_replaces_itself(crew: Crew, table: Table) -> None:
    """X1, X2, M150: the others finish, the stuck call ends unknown, and the next process serves what comes."""
    said: list[str] = []
    supervisor = Supervisor(crew.stores.home, said.append)
    mark = crew.stores.home.root / f"stuck-{crew.tag}"
    part = crew.part("first", lease_seconds=SHORT_SECONDS, threads=4, mark=str(mark))
    supervisor.start([part])
    crew.workers["first"] = supervisor.children["first"]
    crew.wait_for_word("first", "ready.")
    stuck = crew.call(f"/stuck-{crew.tag}", accepted=True)
    wait_until(mark.exists, seconds=30, what="the thread is stuck")
    wait_until(lambda: crew.words("first", "thread_stuck"), seconds=60, what="the keeper has seen it")
    following = [crew.call(f"/{crew.tag}-{n}", accepted=n == 0) for n in range(3)]
    assert crew.gone("first") == 75
    wait_until(lambda: supervisor.tend() or crew.log("first").count("ready.") == 2, seconds=60, what="its successor")
    crew.workers["first"] = supervisor.children["first"]

    assert outcomes(crew, following) == ["completed"] * 3
    reply = crew.reply(stuck)
    assert (reply["outcome"], reply["receipt"]["sent"]) == ("unknown", "unknown")
    assert said == [f"first ended with status 75; starting it again in 0.2 s ({part.log})"]
    assert crew.hits() == [1] * 4
    row = crew.row("a thread stuck in a body: 1 stuck, 3 waiting")
    assert row.ends == "3 completed, 1 outcome_unknown"
    table.setdefault(SECTION, []).append(row)
    assert child.stop([crew.workers["first"]], lambda: False) == []
