"""Clocks that are wrong: of a worker, of the database, of the broker. Leases are in the database's time."""

from pathlib import Path

import pytest

from broker.ledger.operations import find_ended
from ops.lab.control import LabControl
from tests.faults.clocks import Clock, needs_faketime, wrong_by
from tests.faults.lanes import Call, Lane
from tests.faults.launching import Blow
from tests.faults.nodes import process_of, worker_node
from tests.faults.stores import running_stores
from tests.faults.sweeping import Sweep, sweeping
from tests.faults.table import Row
from tests.faults.trial import Trial, trying
from tests.fleet import pass_time, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600), needs_faketime]
Table = dict[str, list[Row]]
HOUR_SECONDS = 3_600


def told(table: Table, trial: Trial) -> None:
    table.setdefault("other faults, slow", []).extend(trial.found)


@pytest.mark.parametrize("skew", ["+1h", "-1h"])
def test_worker_whose_clock_is_wrong_repeats_nothing(sweep: Sweep, lab: LabControl, table: Table, skew: str) -> None:
    """X1, X2: beside a straight worker, both restore what the other holds; leases are the database's time.

    What the other worker held is dated by its clock: such a leftover of an answered call may wait for an hour.
    """
    other = Lane(0, sweep.stores, sweep.history.path.parent, wrong_by(skew), mark="-other")
    try:
        with trying(f"clock of one worker of two {skew}", sweep, lab, drained=False) as trial:
            # Three: a full worker, of four threads, might hold one message more until one of them is free.
            slow, quick = trial.calls(3, gate="skew"), trial.calls(12)
            trial.work(visibility_seconds=60)
            other.launcher.begin(Blow(), visibility_seconds=60)
            straight, skewed = process_of(trial.nodes.worker), process_of(worker_node(other))
            straight.await_ready(), skewed.await_ready()
            for call in [*slow, *quick]:
                trial.lane.send(call)
            trial.arrived(slow)
            # Long enough for a restore, which is looked for each second; within the calls' own deadline of 2 s.
            pass_time(1.2)
            trial.release(slow)
            trial.arrived(quick)
            skewed.stop()
    finally:
        other.close()
        sweep.lanes[0].flush()
    assert trial.hits() == 15
    told(table, trial)


def test_database_whose_clock_jumps_repeats_nothing(lab: LabControl, tmp_path: Path, table: Table) -> None:
    """X1, X2: back by an hour, and leases last longer; on by an hour, and they are over while the fetch goes on."""
    clock = Clock("postgres", "+1h")
    with (
        running_stores(tmp_path / "home", clock.change) as stores,
        sweeping(stores, tmp_path, 1) as sweep,
        trying("clock of PostgreSQL -1h, then +1h (seconds by it)", sweep, lab, excused_seconds=HOUR_SECONDS) as trial,
    ):
        early, late = trial.calls(4, gate="back"), trial.calls(4, gate="on")
        trial.work()
        send(trial, early)
        clock.jump("+0")
        trial.release(early)
        wait_until(lambda: trial.ended(early), seconds=20, what="they settled")
        send(trial, late)
        clock.jump("+1h")
        assert all(find_ended(sweep.ledger, call.project, call.key) for call in late), "their leases are over"
        trial.release(late)
    assert [trial.end_of(call) for call in early] == ["completed"] * 4
    assert [trial.end_of(call) for call in late] == ["outcome_unknown"] * 4
    assert trial.hits() == 8
    told(table, trial)


@pytest.mark.parametrize("jump", ["+10m", "-10m"])
def test_broker_whose_clock_jumps_costs_no_call(lab: LabControl, tmp_path: Path, table: Table, jump: str) -> None:
    """X1: its waits for messages and its keys' expiries are by its clock; calls wait, run, and come afterwards."""
    clock = Clock("broker", "+0")
    with (
        running_stores(tmp_path / "home", clock.change) as stores,
        sweeping(stores, tmp_path, 1) as sweep,
        trying(f"clock of the broker {jump}, calls running and waiting", sweep, lab) as trial,
    ):
        running, waiting, after = trial.calls(4, gate="ticks"), trial.calls(4), trial.calls(4)
        trial.work()
        send(trial, running)
        for call in waiting:
            trial.lane.send(call)
        clock.jump(jump)
        trial.release(running)
        trial.arrived(waiting)
        pass_time(12)  # longer than a worker waits for a broker that does not end its wait
        send(trial, after)
    assert (trial.ends(), trial.hits()) == (["completed"] * 12, 12)
    told(table, trial)


def send(trial: Trial, calls: list[Call]) -> None:
    """Send these, and wait until the origin has heard them."""
    for call in calls:
        trial.lane.send(call)
    trial.arrived(calls)
