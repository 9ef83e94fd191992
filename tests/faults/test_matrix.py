"""The fault matrix, its quick rows: each fault under real calls, judged by the history checker."""

import resource
import signal
from uuid import uuid4

import psutil
import pytest
from pytest_celery import CeleryTestSetup

from broker.ledger.engine import ledger_engine
from broker.ledger.operations import admit, find_ended
from ops.lab.control import LabControl
from ops.stack import child
from tests.faults.lanes import HOST
from tests.faults.nodes import Nodes, process_of, store
from tests.faults.stores import Stores, care
from tests.faults.sweeping import FINAL_SECONDS, NEVER_SECONDS, Sweep
from tests.faults.table import Row
from tests.faults.trial import Trial, trying
from tests.fleet import wait_until
from tests.ledger_calls import profile, request

Table = dict[str, list[Row]]
SECTION = "other faults"


def told(table: Table, trial: Trial) -> None:
    """Into the table with it."""
    table.setdefault(SECTION, []).extend(trial.found)


def test_nodes_come_back_after_each_way_to_go(
    celery_setup: CeleryTestSetup, nodes: Nodes, sweep: Sweep, lab: LabControl
) -> None:
    """X1: pytest-celery's set-up over processes: killed, paused, restarted; then a call goes through all of them."""
    process_of(nodes.worker).start()
    assert celery_setup.ready(control=True)
    every = (celery_setup.broker, celery_setup.backend, nodes.postgres)
    before = [process_of(node).find() for node in every]
    for node in every:
        node.kill()
        node.restart()
    assert not set(before) & {process_of(node).find() for node in every}
    process_of(celery_setup.worker).pause()
    assert celery_setup.worker.container.status == "paused"
    process_of(celery_setup.worker).unpause()
    with trying("nodes", sweep, lab) as trial:
        [call] = trial.calls()
        task = trial.lane.send(call)
        reply = wait_until(lambda: trial.lane.reply(task), seconds=30, what="an answer")
        assert reply["outcome"] == "completed"
        celery_setup.worker.assert_log_exists(reply["operation"])
        celery_setup.worker.kill()
        process_of(celery_setup.worker).await_end()
        assert celery_setup.worker.container.status == "exited"


def test_sixteen_deliveries_at_once_are_one_request(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1, M151: the same task sixteen times, and sixteen tasks of the same call; then as often again when it ended."""
    with trying("16 deliveries at once, and 16 of a finished call", sweep, lab) as trial:
        same, other = trial.calls(2, gate="twins")
        first = trial.lane.send(same)
        tasks = [trial.lane.send(same, first) for _ in range(15)] + [trial.lane.send(other) for _ in range(16)]
        trial.work()
        trial.arrived([same, other])
        trial.release([same, other])
        for task in tasks:
            wait_until(lambda task=task: trial.lane.reply(task), seconds=30, what="each delivery is answered")
        again = [trial.lane.send(call) for call in (same, other) for _ in range(16)]
        replies = [wait_until(lambda task=task: trial.lane.reply(task), seconds=30) for task in again]
        assert {reply["error"]["code"] for reply in replies} == {"reply_not_kept"}
        assert all(reply["replayed"] for reply in replies)
    assert (trial.ends(), trial.hits()) == (["completed"] * 2, 2)
    told(table, trial)


def test_delivery_that_comes_after_the_end_sends_nothing(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1: the first message is held up, a repeat overtakes it."""
    with trying("the original overtaken by its repeat", sweep, lab) as trial:
        [call] = trial.calls()
        late = trial.lane.send(call)
        trial.lane.set_aside()
        trial.work()
        early = trial.lane.send(call)
        reply = wait_until(lambda: trial.lane.reply(early), seconds=15, what="the repeat is answered")
        trial.lane.give_back()
        answer = wait_until(lambda: trial.lane.reply(late), seconds=15, what="the original is answered")
        assert (reply["outcome"], answer["replayed"]) == ("completed", True)
    assert (trial.ends(), trial.hits()) == (["completed"], 1)
    told(table, trial)


def test_flushed_broker_costs_no_call_its_one_request(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1, M151: FLUSHALL with calls running and calls waiting; whoever asks again is answered."""
    with trying("broker flushed: running and waiting calls", sweep, lab) as trial:
        running, waiting = trial.calls(4, gate="flush"), trial.calls(4)
        trial.work()
        for call in running:
            trial.lane.send(call)
        trial.arrived(running)
        for call in waiting:
            trial.lane.send(call)
        trial.lane.flush()
        trial.release(running)
    assert (trial.ends(), trial.hits()) == (["completed"] * 8, 8)
    told(table, trial)


def test_silent_nameserver_ends_a_call_that_sent_nothing(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1: admitted, asked, and never answered: a known end within the call's own deadline, and no request."""
    with trying("nameserver silent", sweep, lab) as trial:
        calls = trial.calls(4)
        lab.dns(HOST, A={"silent": True}, AAAA={"silent": True})
        trial.work()
        tasks = [trial.lane.send(call) for call in calls]
        replies = [wait_until(lambda task=task: trial.lane.reply(task), seconds=15) for task in tasks]
        assert {(reply["outcome"], reply["receipt"]["sent"]) for reply in replies} == {("failed", "not_sent")}
    assert (trial.ends(), trial.hits()) == (["failed"] * 4, 0)
    told(table, trial)


def test_redelivery_after_an_unknown_end_sends_nothing(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1, X2: the worker dies in transfer, the finalizer ends the call, and only then its message comes again."""
    with trying("redelivered after outcome_unknown", sweep, lab) as trial:
        [call] = trial.calls(gate="late")
        trial.work(visibility_seconds=NEVER_SECONDS)
        task = trial.lane.send(call)
        trial.arrived([call])
        trial.nodes.worker.kill()
        wait_until(lambda: trial.ended([call]), seconds=FINAL_SECONDS, what="the finalizer ended it")
        process_of(trial.nodes.worker).await_end()
        assert trial.lane.unread() >= 1
        trial.work()
        reply = wait_until(lambda: trial.lane.reply(task), seconds=15, what="the redelivery is answered")
        assert (reply["outcome"], reply["replayed"]) == ("unknown", True)
        trial.release([call])
    assert (trial.ends(), trial.hits()) == (["outcome_unknown"], 1)
    told(table, trial)


OWNERS_GUARD = "CASE WHEN op.owner = p_owner THEN 'lease' ELSE 'running' END"


def test_ledger_that_gives_a_running_call_away_is_caught(sweep: Sweep, lab: LabControl) -> None:
    """The suite's own proof: with the guard of the owner taken out of the ledger, the witnesses see it."""
    [(honest,)] = sweep.stores.rows("SELECT pg_get_functiondef('ledger_repeat'::regproc)")
    assert OWNERS_GUARD in str(honest)
    sweep.stores.rows(str(honest).replace(OWNERS_GUARD, "'lease'"))
    try:
        with pytest.raises(AssertionError, match="at most one request"):
            give_away(sweep, lab)
    finally:
        sweep.stores.rows(str(honest))


def give_away(sweep: Sweep, lab: LabControl) -> None:
    """One call delivered a second time while it runs."""
    with trying("mutant", sweep, lab) as trial:
        [call] = trial.calls(gate="mutant")
        trial.work()
        trial.lane.send(call)
        trial.arrived([call])
        trial.lane.send(call)
        lab.await_requests(call.target, 2)
        trial.release([call])


# The first insert and the first update wait inside their COMMIT; a sequence remembers also what is rolled back.
SLOW_COMMIT = """
CREATE SEQUENCE slow_insert; CREATE SEQUENCE slow_update;
CREATE FUNCTION slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval(CASE TG_OP WHEN 'INSERT' THEN 'slow_insert' ELSE 'slow_update' END) = 1 THEN PERFORM pg_sleep(4); END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT OR UPDATE ON operations DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION slow_commit();
"""
ORDINARY_COMMIT = """
DROP TRIGGER slow_commit ON operations; DROP FUNCTION slow_commit(); DROP SEQUENCE slow_insert, slow_update
"""
KILL_IN_COMMIT = (
    "SELECT pid FROM pg_stat_activity WHERE CASE wait_event WHEN 'PgSleep' THEN pg_terminate_backend(pid) END"
)


def test_connection_that_dies_inside_a_commit_repeats_nothing(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1, M43: a deferred trigger holds the commits of admission and of settling until their backends are ended."""
    sweep.stores.rows(SLOW_COMMIT)
    with trying("backend ended inside COMMIT of admit and of settle", sweep, lab) as trial:
        [call] = trial.calls()
        trial.work()
        trial.lane.send(call)
        caught: set[object] = set()
        wait_until(
            lambda: caught.update(sweep.stores.rows(KILL_IN_COMMIT)) or len(caught) == 2,
            seconds=20,
            what="two were ended",
        )
    sweep.stores.rows(ORDINARY_COMMIT)
    assert (trial.ends(), trial.hits()) == (["completed"], 1)
    told(table, trial)


def stale(stores: Stores, count: int) -> list[str]:
    """Keys of operations in project `local` whose worker is gone, and whose lease is soon over."""
    ledger = ledger_engine(str(stores.settings.database_url), size=1)
    short = profile(lease_seconds=0.5, active_max=100)
    try:
        tags = [uuid4().hex for _ in range(count)]
        own = {"profile": short, "project": "local", "agent": "cli"}
        orders = [request(**own, key=f"stale-{tag}", run=tag, step=tag) for tag in tags]
        for order in orders:
            admit(ledger, order)
        return [order.key for order in orders]
    finally:
        ledger.dispose()


def ends_of(stores: Stores, keys: list[str]) -> list[object]:
    """The ends that the database's witness saw of these, oldest first."""
    seen = stores.rows("SELECT o.key, e.state FROM witness_ends e JOIN operations o ON o.id = e.operation_id")
    return [state for key, state in seen if key in keys]


def test_two_beats_end_each_stale_call_once(stores: Stores, whole_lab: LabControl) -> None:
    """X2: two beats and two caretakers share the work."""
    del whole_lab
    extra = care(stores, "care-2", "beat-2")
    stores.parts |= {part.name: part for part in extra}
    stores.children |= {part.name: child.start(part) for part in extra}
    keys = stale(stores, 30)
    wait_until(lambda: len(ends_of(stores, keys)) >= 30, seconds=30, what="all are finalized")
    more = stale(stores, 30)
    wait_until(lambda: len(ends_of(stores, more)) >= 30, seconds=30, what="all are finalized")
    for part in extra:
        store(stores, part.name).stop(signal.SIGKILL)
    assert ends_of(stores, keys + more) == ["outcome_unknown"] * 60


def test_reader_ends_a_stale_call_when_there_is_no_beat(stores: Stores, whole_lab: LabControl) -> None:
    """X2: nobody finalizes; whoever looks does, once."""
    del whole_lab
    beat = store(stores, "beat")
    beat.stop(signal.SIGKILL)
    keys = stale(stores, 5)
    ledger = ledger_engine(str(stores.settings.database_url), size=1)
    found = [wait_until(lambda key=key: find_ended(ledger, "local", key), what="a reader ended it") for key in keys * 2]
    ledger.dispose()
    beat.start()
    assert found[:5] == found[5:]
    assert ends_of(stores, keys) == ["outcome_unknown"] * 5


def test_worker_without_descriptors_sends_no_second_request(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1: no file, no socket can be opened while calls come in; then they can again."""
    with trying("worker out of file descriptors", sweep, lab) as trial:
        first, calls = trial.calls(), trial.calls(6)
        trial.work()
        task = trial.lane.send(first[0])
        wait_until(lambda: trial.lane.reply(task), seconds=15, what="the worker works")
        worker = psutil.Process(trial.lane.launcher.pid)
        before = worker.rlimit(resource.RLIMIT_NOFILE)
        worker.rlimit(resource.RLIMIT_NOFILE, (worker.num_fds(), before[1]))
        for call in calls:
            trial.lane.send(call)
        wait_until(lambda: trial.lane.waiting() == 0, seconds=15, what="the worker took them")
        worker.rlimit(resource.RLIMIT_NOFILE, before)
    assert trial.hits() <= 7
    told(table, trial)
