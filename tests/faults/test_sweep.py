"""The exhaustive crash sweep: at most one request, one end, an answer for everybody, wherever the blow falls (X1)."""

from pathlib import Path

import pytest

from ops.lab.control import LabControl
from tests.faults.history import Bounds, entries, judge
from tests.faults.stores import running_stores
from tests.faults.sweeping import Fault, sweeping, witnessed
from tests.faults.table import Row, rows
from tests.faults.terms import FINALIZER_SECONDS

STEPS_MOST = 1_000
CORE = ("sql", "curl", "celery")
# Without these a sweep has swept nothing; most lie on the one thread of the call.
MUST = {
    "celery task_received",
    "celery task_prerun",
    "sql ledger_admit before",
    "sql ledger_admit after",
    "curl prereq before",
    "curl prereq after",
    "curl request out",
    "curl body before",
    "curl body after",
    "sql ledger_settle before",
    "sql ledger_settle after",
    "celery task_postrun",
}
OWN = {"sql ledger_open before", "sql ledger_open after"}
# The stride is 1 but where the point is a second look at another.
FAULTS = (
    (Fault(victim="worker", drain=True), 1),
    (Fault(victim="worker", page="page"), 2),
    (Fault(victim="worker", own=True), 2),
    (Fault(victim="broker"), 1),
    (Fault(victim="results"), 1),
    (Fault(victim="postgres"), 1),
    (Fault(victim="postgres", fast=True), 3),
)


def swept(lab: LabControl, folder: Path, fault: Fault, *, stride: int, missed: tuple[str, ...]) -> list[Row]:
    """The rows of a sweep that broke no promise, with the steps of these kinds that the numbers missed."""
    # A store that is away may cost the finalizer one of its turns.
    bounds = Bounds(finalizer=FINALIZER_SECONDS * (1 if fault.victim == "worker" else 2))
    # Our own clients post to one broker alone, and two workers on it would take each other's calls.
    lane_count = 2 if fault.victim == "worker" and not fault.own else 1
    with running_stores(folder / "home") as stores, sweeping(stores, folder, lane_count) as sweep:
        sweep.strike(fault, range(0, STEPS_MOST, stride))
        sweep.strike_missed(fault, missed)
        sweep.take_over()
        calls = [call for _lane, call in sweep.calls]
        said = [*entries(folder / "history.jsonl"), *witnessed(stores, lab, calls)]
    assert judge(said, bounds) == []
    assert sum(entry["kind"] == "hit" for entry in said) > 0
    return rows(calls, said)


@pytest.mark.timeout(170)
def test_killed_worker_keeps_its_promises_at_every_third_step(lab: LabControl, tmp_path: Path) -> None:
    """X1: SIGKILL at SQL statements, socket operations, libcurl's callbacks and Celery's steps, a run each."""
    found = swept(lab, tmp_path, Fault(victim="worker"), stride=3, missed=CORE)
    assert {row.point for row in found} > MUST


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("fault", "stride"), FAULTS, ids=[fault.name for fault, _ in FAULTS])
def test_blow_at_every_step_breaks_no_promise(
    lab: LabControl, tmp_path: Path, fault: Fault, stride: int, table: dict[str, list[Row]]
) -> None:
    """X1, X7: k = 0, 1, 2 ... until a run gets through, against the worker and against each store under it."""
    table[fault.name] = swept(lab, tmp_path, fault, stride=stride, missed=("",))
    assert {row.point for row in table[fault.name]} > MUST | (OWN if fault.own else set())
