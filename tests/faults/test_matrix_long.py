"""The fault matrix, its slow rows: stores that are silent, full, torn; clocks that lie; extractors that die; a soak."""

import os
import signal
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from broker.settings import settings
from ops import flower
from ops.flower import FlowerEntry
from ops.lab.control import LabControl
from ops.stack import child, life, ports
from tests.faults.lanes import Call, Lane
from tests.faults.nodes import paused, process_of, store
from tests.faults.stores import Stores, running_stores
from tests.faults.sweeping import Sweep, sweeping
from tests.faults.table import Row
from tests.faults.terms import LEASE_SECONDS
from tests.faults.trial import Trial, trying
from tests.fleet import pass_time, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
Table = dict[str, list[Row]]
SECTION = "other faults, slow"
BALLAST_BYTES = 1 << 20


def told(table: Table, trial: Trial) -> None:
    table.setdefault(SECTION, []).extend(trial.found)


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
    assert (trial.ends(), trial.hits()) == (["failed"] * 3, 3)
    told(table, trial)


def killed(worker: psutil.Process) -> bool:
    """Kill the worker's extraction processes, which are all the processes it has; never true."""
    for process in worker.children(recursive=True):
        with suppress(psutil.Error):
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


@contextmanager
def watching(stores: Stores, disk: Path) -> Iterator[FlowerEntry]:
    """A Flower that keeps its log and whatever else it writes on this disk."""
    entry = flower.make_entry(ports.choose(settings().flower_port))
    plain = flower.part(stores.home, life.environment(stores.settings) | {"TMPDIR": str(disk)}, entry)
    stores.parts["flower"] = part = replace(
        plain, log=disk / "flower.log", is_ready=lambda: not ports.is_free(entry.port)
    )
    stores.children["flower"] = child.start(part)
    process = store(stores, "flower")
    try:
        process.await_ready()
        yield entry
    finally:
        process.stop()


def page_of(entry: FlowerEntry) -> str:
    """Flower's list of tasks, as a reader with the password sees it; "" while it does not answer."""
    word = b64encode(f"{flower.USER}:{entry.password}".encode()).decode()
    asked = Request(f"{entry.url}api/tasks", headers={"Authorization": f"Basic {word}"})
    with suppress(OSError), urlopen(asked, timeout=10) as page:
        return str(page.read().decode())
    return ""


def test_full_disk_under_flower_costs_nothing(sweep: Sweep, lab: LabControl, tmp_path: Path, table: Table) -> None:
    """X1: Flower's log and its folder of temporary files find no byte; calls go through, and it shows them."""
    with (
        small_disk(tmp_path / "disk", 1) as disk,
        watching(sweep.stores, disk) as entry,
        trying("disk full under Flower", sweep, lab) as trial,
    ):
        fill(disk / "ballast")
        trial.work()
        tasks = [trial.lane.send(call) for call in trial.calls(8)]
        wait_until(lambda: all(task in page_of(entry) for task in tasks), seconds=60, what="Flower shows the calls")
    assert (trial.ends(), trial.hits()) == (["completed"] * 8, 8)
    told(table, trial)


def send(lane: Lane, call: Call) -> bool:
    """Whether the broker took the message."""
    with suppress(KombuError, RedisError, OSError):
        lane.send(call)
        return True
    return False
