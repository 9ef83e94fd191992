"""The sweep: for k = 0, 1, 2 ... a worker, or a store under it, is struck at its k-th step, until one gets through.

First every k has its run, with a call of its own. Then healthy workers take over all that was left lying, every call
is asked for again, and what came of it all is written into the history, to be judged.
"""

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from uuid import uuid4

from broker import intake
from broker.ledger.engine import ledger_engine
from broker.ledger.operations import find_ended
from broker.ledger.projects import Project, save_project
from ops.lab.control import LabControl
from schemas.errors import LedgerUnavailable
from tests.faults.history import Entry, History
from tests.faults.lanes import Call, Lane
from tests.faults.launching import Blow
from tests.faults.stores import Stores
from tests.faults.terms import LEASE_SECONDS, SOON_SECONDS
from tests.fleet import point_the_client_at, pointed_at, wait_until

NEVER_SECONDS = 3_600.0  # a visibility under which nothing comes back
RUN_SECONDS = 120.0
FINAL_SECONDS = LEASE_SECONDS + 20.0
ASKED_AT_ONCE = 500  # a reply waits for its reader no longer than the result store keeps it
# After a blow to a store: longer than a worker waits for a ledger that is away, between two tries.
QUIET_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is struck: `worker`, `broker`, `results` or `postgres`; `page` is what the call asks for.

    `drain` counts the worker's warm shutdown too; `fast` is PostgreSQL's fast shutdown in place of its crash; `own`
    calls come through the outbox.
    """

    victim: str
    drain: bool = False
    page: str = "plain"
    fast: bool = False
    own: bool = False

    @property
    def name(self) -> str:
        """As the table calls it."""
        return f"{self.victim} {'stopped fast' if self.fast else 'killed'}" + (
            " (HTML)" if self.page != "plain" else " (outbox)" if self.own else ""
        )


class Sweep:
    """All runs of one kind of blow. `calls` holds them, each with the point at which it was struck."""

    def __init__(self, stores: Stores, folder: Path, lanes: Sequence[Lane]) -> None:
        self.stores, self.lanes = stores, lanes
        self.ledger = ledger_engine(str(stores.settings.database_url), size=4)
        self.history = History(folder / "history.jsonl")
        self._lock = Lock()
        self._through = False
        self._seen: dict[str, None] = {}
        self.calls: list[tuple[Lane, Call]] = []

    def strike(self, fault: Fault, ks: Sequence[int]) -> None:
        """One run for each k in turn, on all lanes at once, until a run gets through."""
        self._through = False
        self._along(fault, ks)
        assert self._through, "no run got through: there are more steps than were swept"

    def strike_missed(self, fault: Fault, kinds: tuple[str, ...]) -> None:
        """One run for each step of these kinds that some run took and none was struck at.

        A worker's threads take their steps in an order of their own each time, so that numbers alone may miss some.
        """
        struck = {call.point for _lane, call in self.calls}
        self._along(fault, [point for point in self._seen if point not in struck and point.startswith(kinds)])

    def _along(self, fault: Fault, points: Sequence[int | str]) -> None:
        left = iter(points)
        with ThreadPoolExecutor(len(self.lanes)) as pool:
            for done in [pool.submit(self._go_along, lane, fault, left) for lane in self.lanes]:
                done.result()

    def _go_along(self, lane: Lane, fault: Fault, left: Iterator[int | str]) -> None:
        while True:
            with self._lock:
                at = next(left, None)
            if at is None or (self._through and isinstance(at, int)):
                return
            blow = self._blow(fault, at)
            call = self.accept(lane, f"{fault.victim}-{at}".replace(" ", "-"), fault.page)
            self._run(lane, call, blow, at, own=fault.own)
            if not call.struck:
                self._through = True

    def _blow(self, fault: Fault, at: int | str) -> Blow:
        """The blow, once its victim is there."""
        if fault.victim == "worker":
            return Blow(at=at, drain=fault.drain)
        number = signal.SIGKILL
        if fault.victim == "postgres":
            # Its immediate stop is its crash: a killed postmaster's children only live on a little.
            number = signal.SIGINT if fault.fast else signal.SIGQUIT
        return Blow(at=at, drain=fault.drain, victim=self.stores.pid(fault.victim), signal=number)

    def accept(self, lane: Lane, name: str, page: str) -> Call:
        """A new call in a project of its own."""
        tag = uuid4().hex[:6]
        call = Call(key=f"{name}-{tag}", project=f"p-{name}-{tag}", target=f"/{page}/{name}-{tag}")
        project = Project(id=call.project, enabled=True, fetch_enabled=True, agents=("cli",))
        wait_until(lambda: self._save(project), seconds=30, what="a project")
        with self._lock:
            self.calls.append((lane, call))
        self.history.note("accepted", call=call.key)
        return call

    def submit(self, call: Call) -> None:
        """Let our own client take the call in: accepted by the ledger, its id posted, and posted again if need be."""
        call.tasks.append(intake.submit("web_fetch", call.arguments, call.context, ledger=self.ledger).task_id)

    def _submit_once(self, call: Call) -> str:
        """Submit it, and let the sweeper wait: each struck worker shall meet its own call first. Its task id."""
        self.submit(call)
        self.stores.rows("UPDATE operations SET post_at = now() + interval '1 hour' WHERE state = 'accepted'")
        return call.tasks[-1]

    def _save(self, project: Project) -> bool:
        with suppress(LedgerUnavailable):  # the connection was struck with its server
            return save_project(self.ledger, project, actor="test").enabled
        return False

    def _run(self, lane: Lane, call: Call, blow: Blow, at: int | str, *, own: bool) -> None:
        """One worker with one call, up to its end: by the blow, or by leaving when nothing more is to come."""
        launcher = lane.launcher
        launcher.begin(blow, visibility_seconds=NEVER_SECONDS)
        task = self._submit_once(call) if own else lane.send(call)
        self.history.note("sent", call=call.key, task=task)
        wait_until(lambda: self._gone(lane, call, task, blow), seconds=RUN_SECONDS, what=f"{call.key} is over")
        taken = launcher.taken()
        call.struck = launcher.met(at)
        if call.struck:
            call.at = taken.index(at) if isinstance(at, str) else at
            call.point = taken[call.at]
        else:
            call.point = "(the step did not come again)" if isinstance(at, str) else "(got through)"
        with self._lock:
            self._seen.update(dict.fromkeys(taken))
        lane.set_aside()

    def _gone(self, lane: Lane, call: Call, task: str, blow: Blow) -> bool:
        """Whether the worker is gone. It has to go once the call was answered, or will not be any more."""
        launcher = lane.launcher
        if not call.answered:
            call.answered = self._look(lane, call, task)
        if self._given_up(lane, call, blow) or (call.answered and not lane.holds(task)):
            launcher.leave(signal.SIGTERM if blow.drain else signal.SIGKILL)
        return launcher.ended() is not None

    def _given_up(self, lane: Lane, call: Call, blow: Blow) -> bool:
        """The struck store may have taken message or reply along: long after the blow nobody answers any more."""
        if not call.struck:
            call.struck = blow.at is not None and lane.launcher.met(blow.at)
            call.struck_at = time.monotonic()
        return call.struck and time.monotonic() - call.struck_at > QUIET_SECONDS

    def _look(self, lane: Lane, call: Call, task: str) -> bool:
        """Whether the call was answered under this task id."""
        envelope = lane.reply(task)
        if envelope is not None:
            self._answered(call, task, envelope)
        return envelope is not None

    def _answered(self, call: Call, task: str, envelope: Entry) -> None:
        error = (envelope["error"] or {}).get("code")
        self.history.note("reply", call=call.key, task=task, outcome=envelope["outcome"], error=error)
        call.outcomes.append(error or envelope["outcome"])

    def take_over(self, *, drained: bool = True) -> None:
        """Healthy workers find what the struck ones left; every call is asked for again until it has its answer.

        `drained`: until no message waits, and none is held.
        """
        self.stores.pid("postgres")
        self.stores.rows("UPDATE operations SET post_at = now() WHERE state = 'accepted'")
        for lane in self.lanes:
            lane.give_back()
            if not lane.launcher.running:
                lane.launcher.begin(Blow(), visibility_seconds=SOON_SECONDS)
        for _ in range(2):
            for start in range(0, len(self.calls), ASKED_AT_ONCE):
                self._ask(self.calls[start : start + ASKED_AT_ONCE])
            for _lane, call in self.calls:
                wait_until(lambda call=call: self._read(call), seconds=FINAL_SECONDS, what=f"{call.key} has ended")
        for lane in self.lanes:
            if drained:
                wait_until(lambda lane=lane: lane.unread() == 0, seconds=FINAL_SECONDS, what="no message is left")
            lane.launcher.leave()
            wait_until(
                lambda lane=lane: lane.launcher.ended() is not None, seconds=60, what="the healthy worker has left"
            )

    def _ask(self, calls: Sequence[tuple[Lane, Call]]) -> None:
        waiting = [(lane, call, lane.send(call)) for lane, call in calls]
        for lane, call, task in waiting:
            wait_until(lambda: self._look(lane, call, task), seconds=FINAL_SECONDS, what=f"{call.key} is answered")  # noqa: B023 - called at once

    def _read(self, call: Call) -> bool:
        stored = find_ended(self.ledger, call.project, call.key)
        if stored is not None:
            self.history.note("read", call=call.key, digest=_digest(stored.body))
        return stored is not None

    def close(self) -> None:
        self.ledger.dispose()
        self.history.close()


def _digest(body: str) -> str:
    return sha256(body.encode()).hexdigest()


def witnessed(stores: Stores, lab: LabControl, calls: Sequence[Call]) -> Iterator[Entry]:
    """What the independent witnesses say of these calls: the counting origin's book, the database's triggers."""
    by_target = {call.target: call.key for call in calls}
    keys = set(by_target.values())
    for line in lab.log():
        if line["kind"] == "counted" and line["target"] in by_target:
            yield {"kind": "hit", "call": by_target[line["target"]], "at": line["at"]}
    rows = stores.rows(
        "SELECT o.key, e.state, e.sent, extract(epoch FROM e.at),"
        " extract(epoch FROM coalesce(e.lease_until, o.accept_until)), r.body,"
        " extract(epoch FROM coalesce(o.admitted_at, o.accepted_at)), o.code"
        " FROM witness_ends e JOIN operations o ON o.id = e.operation_id"
        " LEFT JOIN witness_receipts r ON r.operation_id = o.id ORDER BY e.at"
    )
    for key, state, sent, at, lease_until, body, admitted_at, code in rows:
        if key in keys:
            yield {
                "kind": "terminal",
                "call": key,
                "state": state,
                "sent": sent,
                "code": code,
                "at": float(at),
                "lease_until": float(lease_until),
                "admitted_at": float(admitted_at),
                "digest": _digest(str(body)),
            }


@contextmanager
def sweeping(stores: Stores, folder: Path, lane_count: int) -> Iterator[Sweep]:
    """A sweep with so many lanes. The client's Celery app is pointed at these stores meanwhile.

    Lane 0 is where our own clients post, and where the caretaker posts again.
    """
    before = pointed_at()
    point_the_client_at(stores.settings)
    lanes = [Lane(number, stores, folder) for number in range(lane_count)]
    sweep = Sweep(stores, folder, lanes)
    try:
        yield sweep
    finally:
        sweep.close()
        for lane in lanes:
            lane.close()
        if before is not None:
            point_the_client_at(before)
