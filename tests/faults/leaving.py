"""A crew for the tests of leaving: workers on shared stores, calls through both doors, and the commands of a person."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from redis import Redis

from broker import intake
from broker.intake import Handle
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.projects import Project, save_project
from ops.cli.draining import ask
from ops.lab.control import LabControl
from ops.stack import child, life
from ops.stack.child import HOUSE, Child, Part
from tests.faults.stores import Stores
from tests.faults.table import Row
from tests.fleet import point_the_client_at, pointed_at, wait_until

HOST = "counted.example"


@dataclass(slots=True)
class Crew:
    """Workers by name, and the calls they are given."""

    stores: Stores
    lab: LabControl
    ledger: Ledger
    broker: Redis
    tag: str = field(default_factory=lambda: uuid4().hex[:8])
    workers: dict[str, Child] = field(default_factory=dict)
    projects: list[str] = field(default_factory=list)

    def part(
        self, name: str, *, lease_seconds: float, threads: int = 4, drain_seconds: int = 50, mark: str = "-"
    ) -> Part:
        """A worker that fetches, as the fleet's table has them."""
        program = ("-m", "tests.faults.leaving_worker", str(lease_seconds), mark)
        words = f"worker --loglevel INFO -P threads -c {threads} -Q fetch -E --without-gossip --without-mingle"
        options = ("-n", self.name(name), "--", f"worker.soft_shutdown_timeout={drain_seconds}")
        return Part(
            name=name,
            argv=(sys.executable, *program, *words.split(), *options),
            folder=HOUSE,
            log=self.stores.home.logs / f"{name}-{self.tag}.log",
            tier=3,
            environment=life.environment(self.stores.settings),
            may_leave=True,
        )

    def name(self, worker: str) -> str:
        """What Celery calls it: hosts of its own for each test."""
        return f"{worker}@{self.tag}"

    def hire(self, name: str, *, lease_seconds: float, drain_seconds: int = 50) -> Child:
        """Start one, and return when it takes calls."""
        self.workers[name] = child.start(self.part(name, lease_seconds=lease_seconds, drain_seconds=drain_seconds))
        self.wait_for_word(name, "ready.")
        return self.workers[name]

    def log(self, name: str) -> str:
        path = self.stores.home.logs / f"{name}-{self.tag}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for_word(self, name: str, word: str, seconds: float = 40.0) -> None:
        wait_until(lambda: word in self.log(name), seconds=seconds, what=f"{name} says {word!r}")

    def project(self) -> str:
        name = f"p-{uuid4().hex[:8]}"
        save_project(self.ledger, Project(id=name, enabled=True, fetch_enabled=True, agents=("cli",)), actor="test")
        self.projects.append(name)
        return name

    def call(self, path: str, *, accepted: bool = False, project: str | None = None) -> Handle:
        """One call, sent with its arguments, or accepted first as our own clients do."""
        own = uuid4().hex[:8]
        context = {"project": project or self.project(), "agent": "cli", "run": f"r-{own}", "step": "s"}
        ledger = self.ledger if accepted else None
        return intake.submit("web_fetch", {"url": f"https://{HOST}{path}"}, context, ledger=ledger)

    def held(self, number: int, *, accepted: bool = False, project: str | None = None) -> Handle:
        """A call that is under way: the origin has heard it, and keeps its answer."""
        path = f"/hold/{self.tag}-{number}"
        handle = self.call(path, accepted=accepted, project=project)
        assert self.lab.await_requests(path, seconds=30), f"{path} did not arrive"
        return handle

    def release(self, number: int) -> None:
        self.lab.release(f"{self.tag}-{number}")

    def reply(self, handle: Handle, seconds: float = 60.0) -> dict[str, Any]:
        return intake.await_reply(handle, timeout_seconds=seconds, ledger=self.ledger)

    def hits(self) -> list[int]:
        """How often the origin was asked for each address of this test."""
        targets = [one["target"] for one in self.lab.requests(host=HOST) if self.tag in one["target"]]
        return [targets.count(target) for target in sorted(set(targets))]

    def running(self, worker: str) -> int:
        """How many calls a worker has begun, or has for the next free thread, by its own word."""
        name = self.name(worker)
        return int(ask("standing", [name])[name]["running"])

    def row(self, point: str) -> Row:
        """What the witnesses saw of all calls of this test, as a line of the table of faults."""
        ended = self._ended()
        seconds = max(float(str(waited)) for _state, waited in ended)
        states = Counter(str(state) for state, _waited in ended)
        ends = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        return Row(point=point, runs=len(ended), egress=max(self.hits()), ends=ends, seconds=seconds)

    def _ended(self) -> list[tuple[object, ...]]:
        seen = self.stores.rows(
            "SELECT o.project, e.state, extract(epoch FROM e.at - o.admitted_at)"
            " FROM witness_ends e JOIN operations o ON o.id = e.operation_id"
        )
        return [(state, waited) for project, state, waited in seen if project in self.projects]

    def unacknowledged(self) -> int:
        return int(self.broker.hlen("unacked"))

    def booked(self) -> int:
        """How often any worker has written a message into the broker's book of the unacknowledged."""
        return int(self.broker.info("commandstats").get("cmdstat_hset", {"calls": 0})["calls"])

    def waiting(self) -> int:
        return int(self.broker.llen("fetch"))

    def gone(self, name: str, seconds: float = 40.0) -> int:
        """Its exit status, as soon as it has one."""
        return self.workers[name].process.wait(timeout=seconds)

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The ended `outrider WORDS`, told of these stores as of foreign ones."""
        with self.start(*words) as running:
            out, err = running.communicate(timeout=90)
        return subprocess.CompletedProcess(words, running.returncode, out, err)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        environment = os.environ | life.environment(self.stores.settings)
        return subprocess.Popen(
            [sys.executable, "-m", "ops", *words],
            cwd=HOUSE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def words(self, name: str, event: str) -> list[dict[str, Any]]:
        """The lines of this event in a worker's log."""
        lines = [json.loads(line) for line in self.log(name).splitlines() if f'"{event}"' in line]
        return [line for line in lines if line["event"] == event]


@contextmanager
def crew_of(stores: Stores, lab: LabControl) -> Iterator[Crew]:
    """A crew; whoever still works at the end is killed."""
    before = pointed_at()
    point_the_client_at(stores.settings)
    ledger = ledger_engine(str(stores.settings.database_url), size=4)
    broker = Redis(unix_socket_path=str(stores.settings.broker_url).partition("://")[2])
    crew = Crew(stores, lab, ledger, broker)
    try:
        yield crew
    finally:
        for worker in crew.workers.values():
            worker.tell(signal.SIGKILL)
            worker.process.wait(timeout=20)
            worker.sweep()
        broker.delete("fetch", "unacked", "unacked_index")  # a test that failed leaves the next one alone
        broker.close()
        ledger.dispose()
        if before is not None:
            point_the_client_at(before)
