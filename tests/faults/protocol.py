"""The ledger's protocol as pure functions: what it answers to every event, and what it keeps.

Time is one bit a lease: `live` until its end has come. A `Law` may have one guard broken, by the name it is given here;
the explorer shows that each is needed, the hypothesis machine that the SQL obeys the law when none is broken.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

FINALIZER = "finalizer"  # who wrote an end, where it was not a lease's holder
LATE = "not_admitted_in_time"
TERMINAL = ("completed", "failed", "unknown", "refused", "cancelled")


@dataclass(frozen=True)
class Law:
    """The maxima of a family of tools, and the guard that is broken, if any."""

    active_max: int = 3
    step_max: int = 40
    run_max: int = 200
    broken: str = ""

    def keeps(self, guard: str) -> bool:
        return self.broken != guard


class Delivery(NamedTuple):
    """One delivery of one call: `owner` is its own token, `task` the Celery task that brought it."""

    call: int
    owner: str
    task: str
    run: str = "r"
    step: str = "s"
    arguments: str = "a"


class Row(NamedTuple):
    """An operation. `end` says whose account is stored, `receipts` how many there are.

    `accepted_by`: the client's own id of an accepted call, nothing for a raw one; `fresh`: it may still be admitted;
    `sealed`: its request is kept.
    """

    state: str
    owner: str
    task: str
    arguments: str
    run: str
    step: str
    generation: int = 0
    slot: int = -1
    live: bool = False
    end: str = ""
    receipts: int = 0
    accepted_by: str = ""
    fresh: bool = False
    sealed: bool = False


class Slot(NamedTuple):
    """The right of one concurrent request. Free: when its time is over, or nobody holds it."""

    call: int = -1
    live: bool = False


class Ledger(NamedTuple):
    rows: tuple[Row | None, ...]
    slots: tuple[Slot, ...]
    used: tuple[tuple[str, int], ...] = ()
    generation: int = 1
    enabled: bool = True


class Answer(NamedTuple):
    """What a caller is told: lease, running, stored, absent; or the refusal's name. `who`: the task, or whose end."""

    verdict: str
    state: str = ""
    who: str = ""


def empty(law: Law, call_count: int) -> Ledger:
    return Ledger(rows=(None,) * call_count, slots=(Slot(),) * law.active_max)


def accept(law: Law, ledger: Ledger, one: Delivery) -> tuple[Ledger, Answer]:
    """A client of ours asks under an id of its own (here `owner`): the call is the ledger's from now on."""
    row = ledger.rows[one.call]
    if row is None:
        row = Row(
            "accepted",
            "",
            one.task,
            one.arguments,
            one.run,
            one.step,
            accepted_by=one.owner,
            fresh=True,
            sealed=True,
        )
        return ledger._replace(rows=_put(ledger.rows, one.call, row)), Answer("accepted")
    if row.accepted_by == one.owner and law.keeps("an acceptance is known again"):
        return ledger, Answer("accepted")
    return _repeat(law, ledger, row, one._replace(owner=""))


def admit(law: Law, ledger: Ledger, one: Delivery) -> tuple[Ledger, Answer]:
    """One delivery asks: its call is answered from the ledger, or reserved, or refused without a trace."""
    row = ledger.rows[one.call]
    if row is None:
        row = Row("pending", one.owner, one.task, one.arguments, one.run, one.step)
    elif not _is_its(law, row, one):
        return _repeat(law, ledger, row, one)
    if not ledger.enabled and law.keeps("permission"):
        return ledger, Answer("disabled")
    used = dict(ledger.used)
    for scope, name, maximum in (("run", row.run, law.run_max), ("step", f"{row.run}/{row.step}", law.step_max)):
        if used.get(f"{scope} {name}", 0) >= maximum and law.keeps("quota"):
            return ledger, Answer(f"{scope} exhausted")
    free = [n for n, slot in enumerate(ledger.slots) if not slot.live]
    if not free and law.keeps("slot is looked for"):
        return ledger, Answer("busy")
    n = free[0] if free else 0
    for name in (f"run {row.run}", f"step {row.run}/{row.step}"):
        used[name] = used.get(name, 0) + 1
    row = row._replace(state="pending", owner=one.owner, generation=ledger.generation, slot=n, live=True)
    slots = _put(ledger.slots, n, Slot(one.call, live=True)) if law.keeps("slot is taken") else ledger.slots
    rows = _put(ledger.rows, one.call, row)
    return ledger._replace(rows=rows, slots=slots, used=tuple(sorted(used.items()))), Answer("lease")


def _is_its(law: Law, row: Row, one: Delivery) -> bool:
    """Whether this delivery may admit what was accepted before."""
    waiting = row.state == "accepted" or (
        row.state in ("refused", "cancelled") and not law.keeps("what was taken back is not admitted")
    )
    fresh = row.fresh or not law.keeps("a late call is not admitted")
    mine = (row.task, row.arguments) == (one.task, one.arguments)
    return waiting and fresh and mine


def _repeat(law: Law, ledger: Ledger, row: Row, one: Delivery) -> tuple[Ledger, Answer]:
    if row.arguments != one.arguments and law.keeps("arguments are bound"):
        return ledger, Answer("conflict")
    if not law.keeps("repeat counts nothing"):
        ledger = ledger._replace(used=tuple((name, count + 1) for name, count in ledger.used))
    if one.owner and row.state == "pending" and not row.live and not law.keeps("never a second lease"):
        again = row._replace(owner=one.owner, task=one.task, live=True)
        slots = _put(ledger.slots, row.slot, Slot(one.call, live=True))
        return ledger._replace(rows=_put(ledger.rows, one.call, again), slots=slots), Answer("lease")
    ledger, answer = find(law, ledger, one.call)
    if answer.verdict != "running":
        return ledger, answer
    if row.state == "pending" and not law.keeps("lease is its owner's"):
        return ledger, Answer("lease")
    mine = row.owner == one.owner and row.state == "pending" and law.keeps("owner is known again")
    return ledger, Answer("lease") if mine else answer


def find(law: Law, ledger: Ledger, call: int) -> tuple[Ledger, Answer]:
    """A reader looks: one whose lease is over ends by that."""
    row = ledger.rows[call]
    if row is None:
        return ledger, Answer("absent")
    if row.state == "pending" and not row.live and law.keeps("readers finalize"):
        ledger = _finalize_one(law, ledger, call)
        row = ledger.rows[call] or row
    if row.state == "accepted" and not row.fresh:
        ledger, _ = end_accepted(law, ledger, call, "refused", LATE)
        row = ledger.rows[call] or row
    if row.state in ("accepted", "pending"):
        return ledger, Answer("running", who=row.task)
    return ledger, Answer("stored", row.state, row.end)


def end_accepted(law: Law, ledger: Ledger, call: int, state: str, end: str) -> tuple[Ledger, Answer]:
    """A call that waits is taken back or turned away; any other says how it stands."""
    row = ledger.rows[call]
    if row is None:
        return ledger, Answer("absent")
    waits = row.state == "accepted" or (row.state == "pending" and not law.keeps("only what waits is taken back"))
    if waits:
        kept = row.sealed and not law.keeps("a request goes with its call")
        ended = row._replace(state=state, end=end, receipts=row.receipts + 1, sealed=kept)
        ledger = ledger._replace(rows=_put(ledger.rows, call, ended))
    return find(law, ledger, call)


def expire_accepted(law: Law, ledger: Ledger) -> tuple[Ledger, int]:
    """The sweeper ends what nobody admitted in time; how many there were."""
    late = [n for n, row in enumerate(ledger.rows) if row is not None and row.state == "accepted" and not row.fresh]
    for call in late:
        ledger, _ = end_accepted(law, ledger, call, "refused", LATE)
    return ledger, len(late)


def grow_late(ledger: Ledger, call: int) -> Ledger:
    """The time in which an accepted call may be admitted is over."""
    row = ledger.rows[call]
    assert row is not None
    return ledger._replace(rows=_put(ledger.rows, call, row._replace(fresh=False)))


def settle(law: Law, ledger: Ledger, call: int, owner: str, state: str, end: str) -> tuple[Ledger, Answer]:
    """The lease's holder says how it ended, and is told what is stored. The first end is the only one."""
    row = ledger.rows[call]
    if row is None or not row.owner or (row.owner != owner and law.keeps("only the owner settles")):
        return ledger, Answer("stranger")
    if row.state != "pending" and law.keeps("first end stays"):
        if not law.keeps("one receipt"):
            again = row._replace(receipts=row.receipts + 1)
            ledger = ledger._replace(rows=_put(ledger.rows, call, again))
        return ledger, Answer("stored", row.state, row.end)
    if state == "completed" and row.generation != ledger.generation and law.keeps("generation"):
        return ledger, Answer("settings changed")
    rows = _put(ledger.rows, call, row._replace(state=state, end=end, receipts=1, sealed=False))
    return ledger._replace(rows=rows, slots=_freed(law, ledger, row, call)), Answer("stored", state, end)


def _freed(law: Law, ledger: Ledger, row: Row, call: int) -> tuple[Slot, ...]:
    if not law.keeps("slot is freed"):
        return ledger.slots
    if ledger.slots[row.slot].call != call and law.keeps("slot is freed by its holder"):
        return ledger.slots
    return _put(ledger.slots, row.slot, Slot())


def finalize(law: Law, ledger: Ledger) -> tuple[Ledger, int]:
    """The finalization task: every pending row past its lease ends as unknown; how many there were."""
    stale = [call for call, row in enumerate(ledger.rows) if row is not None and _is_stale(law, row)]
    for call in stale:
        ledger = _finalize_one(law, ledger, call)
    return ledger, len(stale)


def _is_stale(law: Law, row: Row) -> bool:
    if row.state != "pending" and law.keeps("finalizer moves pending rows"):
        return False
    return (not row.live or not law.keeps("finalizer waits for the lease")) and row.state != "unknown"


def _finalize_one(law: Law, ledger: Ledger, call: int) -> Ledger:
    row = ledger.rows[call]
    assert row is not None
    receipts = row.receipts + 1 if law.keeps("finalizer writes a receipt") else row.receipts
    ended = row._replace(state="unknown", end=FINALIZER, receipts=receipts, sealed=False)
    return ledger._replace(rows=_put(ledger.rows, call, ended))


def expire(ledger: Ledger, call: int) -> Ledger:
    """The database's clock passes the end of a lease, which is the end of its slot's time too."""
    row = ledger.rows[call]
    assert row is not None
    slots = tuple(slot._replace(live=False) if slot.call == call else slot for slot in ledger.slots)
    return ledger._replace(rows=_put(ledger.rows, call, row._replace(live=False)), slots=slots)


def save(ledger: Ledger, *, enabled: bool = True) -> Ledger:
    """The project's settings are saved, be it without any change."""
    return ledger._replace(generation=ledger.generation + 1, enabled=enabled)


def _put(items: tuple[Any, ...], n: int, item: Any) -> tuple[Any, ...]:
    return (*items[:n], item, *items[n + 1 :])
