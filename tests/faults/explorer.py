"""Every state that the protocol can reach, breadth first, and the promises that each transition is held to.

Breadth first, so that the way to a broken promise is a shortest one.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.faults import protocol
from tests.faults.protocol import FINALIZER, TERMINAL, Law, Ledger, Row
from tests.faults.world import Budget, Worker, World, owner_of, steps


class Task(NamedTuple):
    """What a message asks for. `own`: a client of ours has it accepted first."""

    call: int
    arguments: str = "x"
    own: bool = False


class Case(NamedTuple):
    """A beginning: what is asked for, and what may go wrong."""

    law: Law
    tasks: tuple[Task, ...]
    budget: Budget


@dataclass(frozen=True)
class Found:
    """What an exploration saw. `broken` is the promise that does not hold, `path` the shortest way there."""

    state_count: int
    broken: str = ""
    path: tuple[str, ...] = ()


class Place(NamedTuple):
    """A world of one of the cases explored."""

    case: int
    world: World


ONE, OTHER, SECOND, THIRD = Task(0), Task(0, "y"), Task(1), Task(2)
OWN = Task(0, own=True)
# More calls than slots, and more than the run's quota; then one call, twice and thrice delivered, with pairs of faults;
# then a call of our own client, alone, beside an orchestrator's of the same name, and for a busy project.
CASES = (
    Case(Law(active_max=1, run_max=2), (ONE, SECOND, THIRD), Budget(crashes=0, lost_replies=0)),
    Case(Law(active_max=1), (ONE, OTHER), Budget(crashes=1, lost_replies=0, changes=1)),
    Case(Law(active_max=1), (ONE, ONE), Budget(crashes=2, lost_replies=2)),
    Case(Law(active_max=1), (ONE, ONE), Budget(crashes=1, lost_replies=0, duplicates=1, lost_messages=1)),
    Case(Law(active_max=1), (OWN,), Budget(crashes=1, lost_replies=1, duplicates=1, lost_messages=1, changes=1)),
    Case(Law(active_max=1), (OWN, ONE), Budget(crashes=1, lost_replies=0, changes=1)),
    Case(Law(active_max=1), (OWN, SECOND), Budget(crashes=0, lost_replies=0, lost_messages=1)),
)
# All faults together, for `make test-long`.
LARGE = (
    Case(Law(active_max=1), (ONE, ONE), Budget(crashes=1, lost_replies=1, duplicates=1, lost_messages=1, changes=1)),
    Case(Law(active_max=1), (ONE, ONE), Budget(crashes=3, lost_replies=2, duplicates=1)),
    Case(Law(active_max=1, run_max=2), (ONE, SECOND, THIRD), Budget(crashes=1, lost_replies=0)),
    Case(Law(active_max=1), (OWN, OWN), Budget(crashes=1, lost_replies=1, lost_messages=1, changes=1)),
    Case(Law(active_max=1), (OWN,), Budget(crashes=2, lost_replies=2, duplicates=1, lost_messages=1, changes=2)),
)


def explore(cases: tuple[Case, ...], broken: str = "") -> Found:
    """Look at every transition from the cases' beginnings, until one breaks a promise."""
    laws = [replace(case.law, broken=broken) for case in cases]
    came: dict[Place, tuple[Place, str] | None] = {Place(n, _beginning(case)): None for n, case in enumerate(cases)}
    queue = deque(came)
    while queue:
        place = queue.popleft()
        law, world, resting = laws[place.case], place.world, True
        for label, after, fair in steps(law, world):
            if after == world:
                continue
            resting = resting and not fair
            new = Place(place.case, after)
            if new not in came:
                came[new] = (place, label)
                queue.append(new)
            if wrong := judge(law, world, after):
                return Found(len(came), wrong, (*_path(came, place), label))
        if resting and (wrong := judge_rest(world)):
            return Found(len(came), wrong, _path(came, place))
    return Found(len(came))


def _beginning(case: Case) -> World:
    call_count = 1 + max(task.call for task in case.tasks)
    workers = tuple(
        Worker("abc"[n], task.call, n, task.arguments, at="submitting" if task.own else "queued", own=task.own)
        for n, task in enumerate(case.tasks)
    )
    return World(protocol.empty(case.law, call_count), workers, case.budget, (0,) * call_count)


def _path(came: dict[Place, tuple[Place, str] | None], place: Place) -> tuple[str, ...]:
    labels: list[str] = []
    while origin := came[place]:
        place, label = origin
        labels.append(label)
    return tuple(reversed(labels))


# The promises, each judged on every transition.


def judge(law: Law, before: World, after: World) -> str:
    """The promise that this transition breaks, or nothing."""
    if max(after.rides) > 1:
        return "at most one egress"
    rows = zip(before.ledger.rows, after.ledger.rows, strict=True)
    workers = zip(before.workers, after.workers, strict=False)  # a twin that was just delivered has done nothing yet
    found = (
        *(_judge_row(old, new, after.ledger) for old, new in rows if new is not None and new != old),
        *(_judge_worker(old, new, after.ledger) for old, new in workers if old != new),
        _judge_quota(law, after.ledger),
    )
    return next(filter(None, found), "")


def _judge_row(old: Row | None, new: Row, ledger: Ledger) -> str:
    """What must hold of one operation after each step."""
    was, end = ("", "") if old is None else (old.state, old.end)
    admitted = was != "pending" and new.state == "pending"
    return _first_broken(
        ("a terminal state is final", was not in TERMINAL or (was, end) == (new.state, new.end)),
        ("one receipt an end", new.receipts == (new.state in TERMINAL)),
        ("unknown only when the lease is over", new.state != "unknown" or not new.live),
        ("only the lease's holder ends a call", not new.owner or new.end in ("", FINALIZER, new.owner)),
        ("nothing is admitted when switched off", not admitted or ledger.enabled),
        ("a late call is not admitted", not admitted or new.fresh or not new.accepted_by),
        ("a request is kept until its call ends", new.sealed == (bool(new.accepted_by) and new.state not in TERMINAL)),
        (
            "a save withholds what is under way",
            (was, new.state) != ("pending", "completed") or new.generation == ledger.generation,
        ),
    )


def _first_broken(*promises: tuple[str, bool]) -> str:
    return next((promise for promise, kept in promises if not kept), "")


def _judge_quota(law: Law, ledger: Ledger) -> str:
    """What must hold of slots and counters after each step."""
    admitted = [(call, row) for call, row in enumerate(ledger.rows) if row is not None and row.owner]
    running = [(call, row) for call, row in admitted if row.state == "pending" and row.live]
    return _first_broken(
        ("each that runs has a slot of its own", all(ledger.slots[row.slot] == (call, True) for call, row in running)),
        ("a slot is free when its call has ended", sum(slot.live for slot in ledger.slots) <= len(running)),
        ("a reservation is counted once", all(count == len(admitted) for _, count in ledger.used)),
        ("no more reservations than the quota", len(admitted) <= law.run_max),
    )


def _judge_worker(old: Worker, new: Worker, ledger: Ledger) -> str:
    """What must hold of what one worker just did."""
    row = ledger.rows[new.call]
    sent_back = (old.at, new.at) == ("asking", "queued") and old.life == new.life
    owned = row is not None and row.owner == owner_of(Law(), old)
    leased, told = (new.granted and new.at == "leased"), (new.at == "told" and new.carries.verdict == "stored")
    accepted = old.at == "submitting" and row is not None and row.accepted_by == f"id-{old.name}"
    moved = row is not None and new.at != old.at
    return _first_broken(
        ("an acceptance is known again", not (accepted and new.at == "told")),
        ("nobody rides without a lease", new.at != "riding" or new.granted),
        ("an owner is known again", not (sent_back and owned)),
        ("an answer is for the same arguments", not (moved and (leased or told)) or new.arguments == row.arguments),
        ("a lease is given while it lasts", not (moved and leased) or row.live),
        ("the answer is what the ledger keeps", not (moved and told) or new.carries[1:] == (row.state, row.end)),
    )


def judge_rest(world: World) -> str:
    """The promise that is not kept when nothing moves any more."""
    if any(row is not None and row.state not in TERMINAL for row in world.ledger.rows):
        return "everything that was accepted or admitted ends"
    left = {worker.name for worker in world.workers if not worker.own} - world.answered - world.excused
    return "every task is answered" if left else ""
