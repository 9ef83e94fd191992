"""A whole fleet for tests: `outrider up` as a process, and its doors. Used inside the private internet."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import psutil
from kombu import pools

from broker import intake, settings
from broker.app import app
from broker.intake import Handle
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.projects import Project, save_project
from ops.stack import home
from ops.stack.sharing import joined

HOUSE = Path(__file__).resolve().parents[1]
T = TypeVar("T")


def wait_until(look: Callable[[], T | None], *, seconds: float = 10.0, what: str = "") -> T:
    """What `look` gives as soon as it gives something true. The pause is between looks, not instead of one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.02)
    message = f"not within {seconds} s: {what or look}"
    raise AssertionError(message)


def pass_time(seconds: float) -> None:
    """Let time go by, where that is the fault itself."""
    until = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > until, seconds=seconds + 5)


class Fleet:
    """A running `outrider up`, its ledger, and calls through its Celery door."""

    def __init__(self, process: subprocess.Popen[str], root: Path, log: Path) -> None:
        self.process = process
        self.root = root
        self.log = log
        state = wait_until(self._ready, seconds=90, what="outrider up")
        self.state = state
        self.settings = joined(settings.Settings(home=root), state)
        self.meant_before = pointed_at()
        point_the_client_at(self.settings)
        self.ledger: Ledger = ledger_engine(self.settings.require_database_url(), size=8)

    def environment(self) -> dict[str, str]:
        """The environment of a command that uses this stack."""
        return os.environ | {"OUTRIDER_HOME": str(self.root), "PYTHONUNBUFFERED": "1"}

    def _ready(self) -> home.State | None:
        assert self.process.poll() is None, self.log.read_text()
        state = home.read_state(self.root)
        return state if state is not None and state.phase == "ready" else None

    def context(self, **more: str) -> dict[str, str]:
        """A context of its own run and step in project `local`."""
        own = uuid4().hex[:8]
        return {"project": "local", "agent": "cli", "run": f"r-{own}", "step": f"s-{own}"} | more

    def project(self) -> str:
        """A new project in which agent `cli` may fetch."""
        name = f"p-{uuid4().hex[:8]}"
        save_project(self.ledger, Project(id=name, enabled=True, fetch_enabled=True, agents=("cli",)), actor="test")
        return name

    def send(self, url: str, *, context: dict[str, str] | None = None, progress: bool = False, **more: Any) -> Handle:
        """Send one web_fetch."""
        return intake.submit("web_fetch", {"url": url, **more}, context or self.context(), progress=progress)

    def accept(self, url: str, *, context: dict[str, str] | None = None, **more: Any) -> Handle:
        """Submit one web_fetch as our own clients do: accepted by the ledger, then posted."""
        return intake.submit("web_fetch", {"url": url, **more}, context or self.context(), ledger=self.ledger)

    def reply(self, handle: Handle, seconds: float = 60.0) -> dict[str, Any]:
        """Its envelope."""
        return intake.await_reply(handle, timeout_seconds=seconds, ledger=self.ledger)

    def fetch(self, url: str, *, context: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """One web_fetch through a worker, from message to envelope."""
        return self.reply(self.send(url, context=context, **more))

    def search(self, query: str, *, context: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """One web_search through a worker, in a project of its own unless a context is given: searches wait in turn."""
        where = context or self.context(project=self.project())
        return self.reply(intake.submit("web_search", {"query": query, **more}, where))

    def processes(self, *words: str) -> list[psutil.Process]:
        """The fleet's processes whose command line holds all of these words, oldest first."""
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                line = process.cmdline()
            except psutil.Error:
                continue
            if all(word in line for word in words):
                found.append(process)
        return sorted(found, key=lambda process: process.create_time())

    def workers(self) -> list[psutil.Process]:
        """The worker processes that fetch."""
        return self.processes("worker", "fetch,search,celery")

    def logs(self) -> str:
        """What every part of the fleet has written."""
        return "".join(path.read_text(errors="replace") for path in sorted((self.root / "log").iterdir()))


def pointed_at() -> settings.Settings | None:
    """The stack that this process's client speaks to, if it was told."""
    return settings.installed()


def point_the_client_at(found: settings.Settings) -> None:
    """One process speaks to one stack; a test session meets several, so its Celery app forgets the last one.

    Results that nobody holds any more unsubscribe now, while their store may still be there.
    """
    gc.collect()
    _hang_up()
    settings.install(found)
    app.conf.broker_url, app.conf.result_backend = found.broker_url, found.result_url
    app.amqp._producer_pool = app._pool = app._backend_cache = None
    app._local = threading.local()


def _hang_up() -> None:
    """Close what the client's app holds open to its last stack."""
    backend = app._backend_cache or getattr(app._local, "backend", None)
    if backend is not None:
        if (listener := backend.result_consumer._pubsub) is not None:
            listener.close()
        backend.client.connection_pool.disconnect()
        backend.client.close()
        backend.remove_pending_result = lambda result: result  # a result that dies later has nobody left to tell
    pools.reset()


@contextmanager
def running_fleet(root: Path, *words: str) -> Iterator[Fleet]:
    """`outrider up` at `root` while the block runs, then drained."""
    log = root / "up.log"
    root.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "ops", "up", *words],
            cwd=HOUSE,
            env=os.environ | {"OUTRIDER_HOME": str(root), "PYTHONUNBUFFERED": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        fleet = Fleet(process, root, log)
        try:
            yield fleet
        finally:
            fleet.ledger.dispose()
            if fleet.meant_before is not None:
                point_the_client_at(fleet.meant_before)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
