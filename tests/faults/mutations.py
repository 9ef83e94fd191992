"""The mutations of the protocol and of the SQL, each with what catches it: the suite's own score."""

import sys
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.sql_mutants import MUTANTS

# Each guard of the model, and the promise that the explorer finds broken first when that guard alone is broken.
GUARDS = {
    # The ledger's
    "permission": "nothing is admitted when switched off",
    "never a second lease": "at most one egress",
    "lease is its owner's": "at most one egress",
    "owner is known again": "an owner is known again",
    "readers finalize": "a lease is given while it lasts",
    "only the owner settles": "only the lease's holder ends a call",
    "first end stays": "a terminal state is final",
    "one receipt": "one receipt an end",
    "generation": "a save withholds what is under way",
    "quota": "no more reservations than the quota",
    "repeat counts nothing": "a reservation is counted once",
    "arguments are bound": "an answer is for the same arguments",
    "slot is looked for": "each that runs has a slot of its own",
    "slot is taken": "each that runs has a slot of its own",
    "slot is freed": "a slot is free when its call has ended",
    "slot is freed by its holder": "each that runs has a slot of its own",
    "finalizer moves pending rows": "a terminal state is final",
    "finalizer waits for the lease": "unknown only when the lease is over",
    "finalizer writes a receipt": "one receipt an end",
    "a finalizer runs": "everything that was accepted or admitted ends",
    "an acceptance is known again": "an acceptance is known again",
    "a late call is not admitted": "a late call is not admitted",
    "what was taken back is not admitted": "a terminal state is final",
    "only what waits is taken back": "only the lease's holder ends a call",
    "a request goes with its call": "a request is kept until its call ends",
    "lost messages are posted again": "everything that was accepted or admitted ends",
    # The workers'
    "admission comes first": "nobody rides without a lease",
    "each delivery has its own owner": "at most one egress",
    "a running call is left alone": "nobody rides without a lease",
    "an unknown call is not repeated": "nobody rides without a lease",
    "its own task waits": "every task is answered",
    "ack comes last": "every task is answered",
    "only the settle is repeated": "at most one egress",
    "the stored end is the answer": "the answer is what the ledger keeps",
    "withheld results are settled": "the answer is what the ledger keeps",
}


class Mutation(NamedTuple):
    """`where`: protocol or SQL. `caught_by`: the promise that the explorer finds broken; the test that fails."""

    where: str
    change: str
    caught_by: str


def mutation_table() -> list[Mutation]:
    """Every mutation with what catches it, as test_protocol.py and test_ledger_conforms.py prove row by row."""
    model = [Mutation("protocol", f"without: {guard}", promise) for guard, promise in GUARDS.items()]
    return model + [Mutation("SQL", mutant.name, mutant.caught_by) for mutant in MUTANTS]


@dataclass
class Scoreboard:
    """What a test module's mutations came to, for `pytest -s`."""

    where: str
    seen: dict[str, str] = field(default_factory=dict)

    def note(self, change: str, how: str) -> None:
        self.seen[change] = how

    def show(self) -> None:
        rows = [row for row in mutation_table() if row.where == self.where and row.change in self.seen]
        lines = [f"  {row.change:<62} {row.caught_by}: {self.seen[row.change]}" for row in rows]
        of_all = sum(row.where == self.where for row in mutation_table())
        lines.append(f"{self.where} mutations caught: {len(rows)} of {of_all}")
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
