"""Nodes of pytest-celery that are processes and not Docker containers: killed, paused, stopped, restarted, read.

pytest-celery's containers speak to a Docker object; here they are given a `Process` in its place, which answers the
same questions. Everything above it, nodes, clusters and the set-up, is pytest-celery's own.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pytest_celery import (
    CeleryTestBackend,
    CeleryTestBroker,
    CeleryTestContainer,
    CeleryTestNode,
    CeleryTestWorker,
    CeleryWorkerContainer,
    RedisContainer,
)
from redis import Redis

from broker.app import app
from tests.faults.lanes import Lane
from tests.faults.launching import Blow
from tests.faults.stores import Stores
from tests.fleet import wait_until


@dataclass(kw_only=True)
class Process:
    """What pytest-celery takes for a Docker container.

    `find` gives the process's id; `runs` whether it is there; `begin` starts it, `leave` keeps it from being started
    again by whoever tends it; `is_ready` is asked after a start. `stop_signal` asks it to end in order.
    """

    name: str
    log: Path
    find: Callable[[], int]
    runs: Callable[[], bool]
    begin: Callable[[], None]
    leave: Callable[[], None]
    is_ready: Callable[[], bool]
    stop_signal: signal.Signals = signal.SIGTERM

    def __post_init__(self) -> None:
        self.id = socket.gethostname()
        self._paused: list[psutil.Process] = []

    @property
    def status(self) -> str:
        """As Docker says it."""
        return ("paused" if self._paused else "running") if self.runs() else "exited"

    @property
    def attrs(self) -> dict[str, Any]:
        """No network of its own, no published port: there is nothing to wait for but the process."""
        return {"Config": {"Hostname": self.id, "Env": []}, "NetworkSettings": {"Networks": {}, "Ports": {}}}

    def kill(self, signal: str | int | None = None) -> None:
        """Signal the process alone: whoever tends a store starts it again. A worker is followed by the next one."""
        number = _signal(signal)
        with suppress(ProcessLookupError):
            os.kill(self.find(), number)

    def pause(self) -> None:
        """Stop it and all that it started, without a word: nothing answers, nothing is refused."""
        head = psutil.Process(self.find())
        for process in (head, *head.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                self._paused.append(process)

    def unpause(self) -> None:
        while self._paused:
            with suppress(psutil.NoSuchProcess):
                self._paused.pop().resume()

    def stop(self, number: signal.Signals | None = None) -> None:
        """End it and keep it away."""
        self.leave()
        told: set[int] = set()  # each once: a second SIGTERM means haste to a worker

        def gone() -> bool:
            if self.runs() and self.find() not in told:  # it may have been started again at the last moment
                told.add(self.find())
                self.kill(number or self.stop_signal)
            return not self.runs()

        wait_until(gone, seconds=60, what=f"{self.name} is gone")

    def start(self) -> None:
        """Have it back, ready."""
        self.begin()
        self.await_ready()

    def await_ready(self) -> None:
        wait_until(lambda: self.runs() and self.is_ready(), seconds=60, what=f"{self.name} is ready")

    def await_end(self) -> None:
        wait_until(lambda: not self.runs(), seconds=60, what=f"{self.name} is gone")

    def restart(self, timeout: int = 60) -> None:
        """End it in order and have it back."""
        del timeout  # Docker's, after which it kills: ours are given a minute
        self.stop()
        self.start()

    def reload(self) -> None:
        """Nothing is remembered that could be old."""

    def logs(self) -> bytes:
        return self.log.read_bytes() if self.log.exists() else b""


def _signal(name: str | int | None) -> signal.Signals:
    return signal.Signals[name] if isinstance(name, str) else signal.Signals(name or signal.SIGKILL)


class ValkeyContainer(RedisContainer):
    """A Valkey at a Unix socket."""

    def __init__(self, process: Process, url: str) -> None:
        super().__init__(process)
        self._url = url

    @property
    def host_url(self) -> str:
        return self._url

    url, port, hostname = host_url, 0, "localhost"

    @property
    def client(self) -> Redis:
        return Redis(unix_socket_path=self._url.partition("://")[2])


class WorkerContainer(CeleryWorkerContainer):
    """The worker of a lane."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self.worker_name = lambda: process.name


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of one trial. `worker` is the lane's; `postgres` is ours, for pytest-celery knows no database."""

    broker: CeleryTestBroker
    results: CeleryTestBackend
    postgres: CeleryTestNode
    worker: CeleryTestWorker


def nodes_of(stores: Stores, lane: Lane) -> Nodes:
    """The stores and the lane's worker, as nodes."""
    settings = stores.settings
    return Nodes(
        broker=CeleryTestBroker(ValkeyContainer(store(stores, "broker"), str(settings.broker_url)), app),
        results=CeleryTestBackend(ValkeyContainer(store(stores, "results"), str(settings.result_url)), app),
        postgres=CeleryTestNode(CeleryTestContainer(store(stores, "postgres")), app),
        worker=worker_node(lane),
    )


def worker_node(lane: Lane) -> CeleryTestWorker:
    """The worker of a lane."""
    return CeleryTestWorker(WorkerContainer(_worker(lane)), app)


def process_of(node: CeleryTestNode) -> Process:
    """The process under a node, for what Docker can do and pytest-celery does not ask of it."""
    return node.container._container


@contextmanager
def paused(node: CeleryTestNode) -> Iterator[None]:
    """The node is silent while the block runs."""
    process_of(node).pause()
    try:
        yield
    finally:
        process_of(node).unpause()


def store(stores: Stores, name: str) -> Process:
    """A part that `Stores` tends: what ends is started again at once, unless it was stopped."""
    part = stores.parts[name]
    return Process(
        name=name,
        log=part.log,
        find=lambda: stores.children[name].pid,
        runs=lambda: stores.children[name].ended() is None,
        begin=lambda: stores.down.discard(name),
        leave=lambda: stores.down.add(name),
        is_ready=part.is_ready,
        stop_signal=part.stops[0][0],
    )


def _worker(lane: Lane) -> Process:
    launcher = lane.launcher
    return Process(
        name=launcher.name,
        log=launcher.log,
        find=lambda: launcher.pid,
        runs=lambda: launcher.running and launcher.ended() is None,
        begin=lambda: launcher.begin(Blow(), visibility_seconds=launcher.visibility_seconds),
        leave=lambda: None,  # nobody starts it again by himself
        is_ready=lambda: b"ready." in launcher.log.read_bytes()[launcher.log_begins :],
    )
