"""The fault matrix, its slow rows: stores that are silent, full, torn; clocks that lie; extractors that die; a soak."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from ops.lab.control import LabControl
from tests.faults.lanes import Call, Lane
from tests.faults.launching import Blow
from tests.faults.nodes import paused, process_of, worker_node
from tests.faults.stores import running_stores
from tests.faults.sweeping import Sweep, sweeping
from tests.faults.table import Row
from tests.faults.terms import LEASE_SECONDS
from tests.faults.trial import Trial, trying
from tests.fleet import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
Table = dict[str, list[Row]]
SECTION = "other faults, slow"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
BALLAST_BYTES = 1 << 20


def told(table: Table, trial: Trial) -> None:
    table.setdefault(SECTION, []).extend(trial.found)


def pass_time(seconds: float) -> None:
    """Let time go by: it is the fault itself."""
    until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > until, seconds=seconds + 5)


@pytest.mark.parametrize("name", ["broker", "results", "postgres"])
def test_store_that_is_silent_past_the_lease_costs_no_second_request(
    sweep: Sweep, lab: LabControl, table: Table, name: str
) -> None:
    """X1, X2: all processes of a store are frozen while calls are in transfer, and others wait; nothing is refused."""
    seconds = LEASE_SECONDS + 2
    with trying(f"{name} silent for {seconds:g} s, calls in transfer", sweep, lab, excused_seconds=seconds) as trial:
        calls = trial.calls(4, gate=f"still-{name}")
        trial.work()
        for call in calls:
            trial.lane.send(call)
        trial.arrived(calls)
        with paused(getattr(trial.nodes, name)):
            trial.release(calls)
            pass_time(seconds)
    assert trial.hits() == 4
    assert set(trial.ends()) <= {"completed", "outcome_unknown"}
    told(table, trial)


def test_torn_tail_of_the_broker_s_log_costs_no_call(sweep: Sweep, lab: LabControl, table: Table) -> None:
    """X1: SIGKILL with messages waiting, then the last bytes of the file are gone."""
    with trying("broker killed, its log cut by 7 bytes", sweep, lab) as trial:
        calls, stores = trial.calls(6), trial.stores
        for call in calls:
            trial.lane.send(call)
        broker = process_of(trial.nodes.broker)
        broker.stop(signal.SIGKILL)
        log = max((stores.home.broker / "appendonlydir").glob("*.incr.aof"))
        os.truncate(log, log.stat().st_size - 7)
        broker.start()
        trial.work()
    assert (trial.ends(), trial.hits()) == (["completed"] * 6, 6)
    told(table, trial)


@pytest.mark.parametrize("skew", ["+1h", "-1h"])
@pytest.mark.skipif(not FAKETIME.exists(), reason="needs libfaketime (Debian: libfaketime)")
def test_worker_whose_clock_is_wrong_repeats_nothing(sweep: Sweep, lab: LabControl, table: Table, skew: str) -> None:
    """X1, X2: beside a straight worker, both restore what the other holds; leases are the database's time.

    What the other worker held is dated by its clock: such a leftover of an answered call may wait for an hour.
    """
    lies = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": skew, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    other = Lane(0, sweep.stores, sweep.history.path.parent, lies, mark="-other")
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


def test_extractors_that_are_killed_keep_the_receipt_of_their_request(
    sweep: Sweep, lab: LabControl, table: Table
) -> None:
    """X1: as the kernel does where memory ends; what was sent is told."""
    with trying("extraction processes killed (out of memory)", sweep, lab) as trial:
        calls = trial.calls(3, page="page")
        trial.work()
        tasks = [trial.lane.send(call) for call in calls]
        worker = psutil.Process(trial.lane.launcher.pid)
        for task in tasks:
            wait_until(lambda task=task: killed(worker) or trial.lane.reply(task), seconds=30, what="an answer")
    assert trial.hits() == 3
    assert set(trial.ends()) <= {"completed", "failed"}
    told(table, trial)


def killed(worker: psutil.Process) -> bool:
    """Kill the worker's extraction processes; never true."""
    for process in worker.children():
        with suppress(psutil.Error):
            if any("spawn_main" in word for word in process.cmdline()):
                process.kill()
    return False


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own. Skips where none can be mounted."""
    folder.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(folder))
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(("umount", "-l", str(folder)), check=True)


def fill(ballast: Path) -> None:
    """Write until there is no byte left."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(BALLAST_BYTES))
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))


def test_full_disk_under_all_stores_costs_no_second_request(lab: LabControl, tmp_path: Path, table: Table) -> None:
    """X1: PostgreSQL, the broker's log and their own logs find no byte; then there is room again."""
    with (
        small_disk(tmp_path / "disk", 160) as disk,
        running_stores(disk / "home") as stores,
        sweeping(stores, tmp_path, 1) as sweep,
        trying("disk full under PostgreSQL and broker", sweep, lab, excused_seconds=60) as trial,
    ):
        running, waiting = trial.calls(4, gate="disk"), trial.calls(40)
        trial.work()
        for call in running:
            trial.lane.send(call)
        trial.arrived(running)
        fill(disk / "ballast")
        trial.release(running)
        sent = sum(send(trial.lane, call) for call in waiting)
        pass_time(LEASE_SECONDS)
        (disk / "ballast").unlink()
        stores.pid("postgres"), stores.pid("broker")
    assert trial.hits() >= 4
    assert sent <= 40
    told(table, trial)


def send(lane: Lane, call: Call) -> bool:
    """Whether the broker took the message."""
    with suppress(KombuError, RedisError, OSError):
        lane.send(call)
        return True
    return False
