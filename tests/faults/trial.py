"""One trial: a lane on shared stores, some calls, a fault made by the test, and the judgement at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ops.lab.control import LabControl
from tests.faults.history import Bounds, Entry, entries, judge
from tests.faults.lanes import Call, Lane
from tests.faults.launching import Blow
from tests.faults.nodes import Nodes, nodes_of
from tests.faults.stores import Stores
from tests.faults.sweeping import Sweep, witnessed
from tests.faults.table import Row, rows
from tests.faults.terms import FINALIZER_SECONDS, SOON_SECONDS


@dataclass(slots=True)
class Trial:
    """What a test needs to make a fault. `judged` has the entries once the block is over."""

    stores: Stores
    lab: LabControl
    sweep: Sweep
    lane: Lane
    nodes: Nodes
    fault: str
    found: list[Row] = field(default_factory=list)
    judged: list[Entry] = field(default_factory=list)

    def work(self, *, visibility_seconds: float = SOON_SECONDS) -> None:
        """Start a healthy worker."""
        self.lane.launcher.begin(Blow(), visibility_seconds=visibility_seconds)

    def calls(self, count: int = 1, page: str = "plain", gate: str = "") -> list[Call]:
        """New calls, none of them sent yet; behind a gate the origin holds each until it is released."""
        made = [self.sweep.accept(self.lane, f"{gate or 't'}-{n}", page) for n in range(count)]
        for call in made:
            call.point = self.fault
            if gate:
                self.lab.behave(call.target, "hold")
        return made

    def arrived(self, calls: Sequence[Call]) -> None:
        """Return when the origin has heard each of these."""
        for call in calls:
            assert self.lab.await_requests(call.target, seconds=15), f"{call.key} did not arrive"

    def release(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self.lab.release(call.target)

    def ends(self) -> list[str]:
        """How the calls ended, each once."""
        return [entry["state"] for entry in self.judged if entry["kind"] == "terminal"]

    def end_of(self, call: Call) -> str:
        """How a call ended."""
        [state] = [entry["state"] for entry in self.judged if entry["kind"] == "terminal" and entry["call"] == call.key]
        return str(state)

    def ended(self, calls: Sequence[Call]) -> bool:
        """Whether the database has seen the end of each of these."""
        rows = self.stores.rows("SELECT o.key FROM witness_ends e JOIN operations o ON o.id = e.operation_id")
        return {call.key for call in calls} <= {key for (key,) in rows}

    def hits(self) -> int:
        return sum(entry["kind"] == "hit" for entry in self.judged)

    def finish(self, bounds: Bounds, *, drained: bool) -> None:
        """Ask for every call again, and judge."""
        self.sweep.take_over(drained=drained)
        calls = [call for _lane, call in self.sweep.calls]
        keys = {call.key for call in calls}
        own = [entry for entry in entries(self.sweep.history.path) if entry.get("call") in keys]
        self.judged = [*own, *witnessed(self.stores, self.lab, calls)]
        self.found = rows(calls, self.judged)
        breaches = judge(self.judged, bounds)
        assert not breaches, breaches


@contextmanager
def trying(
    fault: str, sweep: Sweep, lab: LabControl, *, excused_seconds: float = 0.0, drained: bool = True
) -> Iterator[Trial]:
    """A trial of this fault; at the end of the block everything is asked for again and judged.

    Unit: `excused_seconds` is how long a fault kept the finalizer from its work. `drained`: no message may be left.
    """
    sweep.calls.clear()
    trial = Trial(sweep.stores, lab, sweep, sweep.lanes[0], nodes_of(sweep.stores, sweep.lanes[0]), fault)
    yield trial
    trial.finish(Bounds(finalizer=FINALIZER_SECONDS + excused_seconds), drained=drained)
