"""What can happen next: workers, messages, crashes, lost replies, the clock, readers, saves, and whoever is paused.

A worker that is not stepped is paused, for as long as the rest likes: zombies need no event of their own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.faults import protocol
from tests.faults.protocol import Answer, Delivery, Law, Ledger


class Worker(NamedTuple):
    """One message, and the worker that has it.

    `name` is the task's, `number` tells its messages apart. `at`: queued, asking (a reply to its admission was lost),
    leased, riding, back, told, gone. `life` counts crashes: each new life has an owner's token of its own. `granted`:
    an admission gave this life the lease. `acked`: the message is no longer the queue's. `carries`: the state that it
    found, or the answer that it was told. `own`: the call of a client of ours, accepted before its message is posted;
    such a worker begins as its client (submitting, posting), and may turn its call away (turning).
    """

    name: str
    call: int
    number: int
    arguments: str = "x"
    at: str = "queued"
    life: int = 1
    granted: bool = False
    acked: bool = False
    carries: Answer = Answer("")
    own: bool = False


def owner_of(law: Law, worker: Worker) -> str:
    """The token that this life of a delivery asks and settles with."""
    if not law.keeps("each delivery has its own owner"):
        return worker.name
    return f"{worker.name}{worker.number}.{worker.life}"


class Budget(NamedTuple):
    """How many of each fault may still come. `changes`: saves, calls taken back, calls whose time is over."""

    crashes: int = 1
    lost_replies: int = 1
    duplicates: int = 0
    lost_messages: int = 0
    changes: int = 0


class World(NamedTuple):
    """`rides` counts how often each call left the machine; `answered` and `excused` are names of tasks."""

    ledger: Ledger
    workers: tuple[Worker, ...]
    budget: Budget
    rides: tuple[int, ...]
    answered: frozenset[str] = frozenset()
    excused: frozenset[str] = frozenset()


class Step(NamedTuple):
    """`fair`: it will happen if nothing else does. Faults and readers may stay away for ever."""

    label: str
    after: World
    fair: bool = True


def steps(law: Law, world: World) -> Iterator[Step]:
    """Everything that can happen next."""
    for n, worker in enumerate(world.workers):
        if worker.at != "gone":
            yield from _work(law, world, n)
            yield from _faults(world, n)
    yield from _surroundings(law, world)


def _work(law: Law, world: World, n: int) -> Iterator[Step]:
    worker = world.workers[n]
    match worker.at:
        case "submitting":
            yield from _submit(law, world, n)
        case "posting":
            yield Step(f"{worker.name} is posted", _with(world, n, worker._replace(at="queued")))
        case "queued" | "asking":
            yield from _ask(law, world, n)
        case "turning":
            yield _turn_away(law, world, n)
        case "leased" | "riding":
            yield from _travel(world, n)
        case "back":
            yield from _settle(law, world, n)
        case "told":
            answered = world.answered | {worker.name}
            yield Step(f"{worker.name} answers", _with(world, n, _spent(worker))._replace(answered=answered))


def _travel(world: World, n: int) -> Iterator[Step]:
    worker = world.workers[n]
    row = world.ledger.rows[worker.call]
    if worker.at == "riding":
        for state in ("completed", "failed"):
            back = worker._replace(at="back", carries=Answer("", state))
            yield Step(f"{worker.name} comes back: {state}", _with(world, n, back))
        return
    yield Step(f"{worker.name} rides out", _ride(world, n))
    if row is not None and not row.live:
        late = worker._replace(at="back", carries=Answer("", "failed"))
        yield Step(f"{worker.name} sees that its lease is over", _with(world, n, late))


def _submit(law: Law, world: World, n: int) -> Iterator[Step]:
    """The client has its call accepted; a message is posted for it afterwards."""
    worker, budget = world.workers[n], world.budget
    ledger, answer = protocol.accept(law, world.ledger, _delivery(law, worker)._replace(owner=f"id-{worker.name}"))
    accepted = world._replace(ledger=ledger)
    next_ = worker._replace(at="posting")
    if answer.verdict != "accepted":
        next_ = worker._replace(at="told", carries=Answer("refused"))
    yield Step(f"{worker.name} submits: {' '.join(answer).strip()}", _with(accepted, n, next_))
    if budget.lost_replies:
        lost = accepted._replace(budget=budget._replace(lost_replies=budget.lost_replies - 1))
        yield Step(f"{worker.name} submits, the reply is lost", lost, fair=False)


def _turn_away(law: Law, world: World, n: int) -> Step:
    """A worker ends the call that cannot be admitted."""
    worker = world.workers[n]
    ledger, answer = protocol.end_accepted(law, world.ledger, worker.call, "refused", "turned away")
    told = worker._replace(at="told", carries=answer) if answer.verdict == "stored" else _spent(worker)
    return Step(
        f"{worker.name} is turned away: {' '.join(answer).strip()}", _with(world, n, told)._replace(ledger=ledger)
    )


def _ask(law: Law, world: World, n: int) -> Iterator[Step]:
    worker = world.workers[n]
    if not law.keeps("admission comes first") and worker.at == "queued":
        yield Step(f"{worker.name} rides out unadmitted", _ride(world, n))
    if not law.keeps("ack comes last"):
        worker = worker._replace(acked=True)
    ledger, answer = protocol.admit(law, world.ledger, _delivery(law, worker))
    admitted = world._replace(ledger=ledger)
    yield Step(f"{worker.name} asks: {' '.join(answer).strip()}", _with(admitted, n, _heard(law, worker, answer)))
    if world.budget.lost_replies:
        lost = admitted._replace(budget=world.budget._replace(lost_replies=world.budget.lost_replies - 1))
        yield Step(f"{worker.name} asks, the reply is lost", _with(lost, n, worker._replace(at="asking")), fair=False)
    if worker.at == "asking":
        again = _spent(worker) if worker.own else worker._replace(at="queued", life=worker.life + 1)
        yield Step(f"{worker.name} gives the message back", _with(world, n, again), fair=False)


def _delivery(law: Law, worker: Worker) -> Delivery:
    return Delivery(worker.call, owner_of(law, worker), worker.name, arguments=worker.arguments)


def _heard(law: Law, worker: Worker, answer: Answer) -> Worker:
    """What a delivery does with the answer to its admission."""
    if answer.verdict == "lease":
        return worker._replace(at="leased", granted=True)
    runs, unknown = answer.verdict == "running", answer.state == "unknown"
    if (runs and not law.keeps("a running call is left alone")) or (
        unknown and not law.keeps("an unknown call is not repeated")
    ):
        return worker._replace(at="leased")
    if runs and answer.who == worker.name and not worker.own:  # the same task: it looks again later
        return worker._replace(at="queued") if law.keeps("its own task waits") else _spent(worker)
    if worker.own and (runs or answer.state == "completed"):  # whoever runs it answers
        return _spent(worker)
    if answer.verdict == "stored":
        return worker._replace(at="told", carries=answer)
    return worker._replace(at="turning") if worker.own else worker._replace(at="told", carries=Answer("refused"))


def _settle(law: Law, world: World, n: int) -> Iterator[Step]:
    worker = world.workers[n]
    state, owner = worker.carries.state, owner_of(law, worker)
    ledger, answer = protocol.settle(law, world.ledger, worker.call, owner, state, owner)
    settled = world._replace(ledger=ledger)
    if answer.verdict == "settings changed":
        told = worker._replace(carries=Answer("", "failed"))
        if not law.keeps("withheld results are settled"):
            told = worker._replace(at="told", carries=Answer("stored", "failed", owner))
    else:
        kept = law.keeps("the stored end is the answer")
        told = worker._replace(at="told", carries=answer if kept else Answer("stored", state, owner))
    yield Step(f"{worker.name} settles {state}: {' '.join(answer).strip()}", _with(settled, n, told))
    if world.budget.lost_replies:
        lost = settled._replace(budget=world.budget._replace(lost_replies=world.budget.lost_replies - 1))
        after = lost if law.keeps("only the settle is repeated") else _ride(lost, n)
        yield Step(f"{worker.name} settles {state}, the reply is lost", after, fair=False)
    row = world.ledger.rows[worker.call]
    if row is not None and not row.live:  # patience lasts as long as the lease
        given_up = _with(world, n, worker._replace(at="told", carries=Answer("unsettled")))
        yield Step(f"{worker.name} cannot reach the ledger until its lease is over", given_up, fair=False)


def _faults(world: World, n: int) -> Iterator[Step]:
    worker, budget = world.workers[n], world.budget
    if budget.crashes and worker.at != "queued":
        lower = world._replace(budget=budget._replace(crashes=budget.crashes - 1))
        reborn = _fresh(worker)._replace(life=worker.life + 1)
        lost = worker.acked or worker.at in ("submitting", "posting")
        yield Step(f"{worker.name} crashes", _with(lower, n, _spent(worker) if lost else reborn), fair=False)
    if budget.duplicates and worker.at not in ("submitting", "posting"):
        lower = world._replace(budget=budget._replace(duplicates=budget.duplicates - 1))
        twin = _fresh(worker)._replace(number=len(world.workers))
        yield Step(f"{worker.name} is delivered again", lower._replace(workers=(*world.workers, twin)), fair=False)
    if budget.lost_messages and worker.at in ("queued", "posting"):
        lower = world._replace(budget=budget._replace(lost_messages=budget.lost_messages - 1))
        gone = _with(lower, n, _spent(worker))
        yield Step(f"{worker.name}'s message is lost", gone._replace(excused=world.excused | {worker.name}), fair=False)


def _surroundings(law: Law, world: World) -> Iterator[Step]:
    ledger = world.ledger
    for call, row in enumerate(ledger.rows):
        if row is not None and row.live and (row.state == "pending" or ledger.slots[row.slot] == (call, True)):
            yield Step(f"the lease of call {call} ends", world._replace(ledger=protocol.expire(ledger, call)))
        read = protocol.find(law, ledger, call)[0]
        forged = protocol.settle(law, ledger, call, "stranger", "completed", "stranger")[0]
        for label, changed in (("is read", read), ("is settled by a stranger", forged)):
            if changed is not ledger:
                yield Step(f"call {call} {label}", world._replace(ledger=changed), fair=False)
    finalized, count = protocol.finalize(law, ledger)
    if count and law.keeps("a finalizer runs"):
        yield Step("the finalizer runs", world._replace(ledger=finalized))
    expired, count = protocol.expire_accepted(law, ledger)
    if count:
        yield Step("the sweeper ends what is late", world._replace(ledger=expired))
    if law.keeps("lost messages are posted again"):
        yield from _sweep(world)
    if world.budget.changes:
        yield from _changes(law, world._replace(budget=world.budget._replace(changes=world.budget.changes - 1)))


def _sweep(world: World) -> Iterator[Step]:
    """The sweeper posts again what is accepted and has no message. Nobody ever had its lease: any owner is new."""
    busy = {worker.name for worker in world.workers if worker.at != "gone"}
    for n, worker in enumerate(world.workers):
        row = world.ledger.rows[worker.call]
        if (
            worker.own
            and worker.name not in busy
            and row is not None
            and (row.state, row.task) == ("accepted", worker.name)
        ):
            yield Step(f"{worker.name} is posted again", _with(world, n, worker._replace(at="queued")))
            return


def _changes(law: Law, lower: World) -> Iterator[Step]:
    ledger = lower.ledger
    saved, off = protocol.save(ledger), protocol.save(ledger, enabled=False)
    yield Step("the settings are saved", lower._replace(ledger=saved), fair=False)
    yield Step("the project is switched off", lower._replace(ledger=off), fair=False)
    for call, row in enumerate(ledger.rows):
        if row is not None and row.accepted_by:
            back = protocol.end_accepted(law, ledger, call, "cancelled", "client")[0]
            yield Step(f"call {call} is taken back", lower._replace(ledger=back), fair=False)
            late = protocol.grow_late(ledger, call)
            yield Step(f"call {call} is late", lower._replace(ledger=late), fair=False)


def _ride(world: World, n: int) -> World:
    worker = world.workers[n]
    rides = tuple(count + (call == worker.call) for call, count in enumerate(world.rides))
    return _with(world, n, worker._replace(at="riding"))._replace(rides=rides)


def _with(world: World, n: int, worker: Worker) -> World:
    return world._replace(workers=(*world.workers[:n], worker, *world.workers[n + 1 :]))


def _spent(worker: Worker) -> Worker:
    """What is left of a message that is gone; lives that are over need not be told apart."""
    return _fresh(worker)._replace(at="gone", life=worker.life if worker.own else 0)


def _fresh(worker: Worker) -> Worker:
    return Worker(worker.name, worker.call, worker.number, worker.arguments, own=worker.own)
