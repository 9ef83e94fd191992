"""Causes: how far a call's worker had come when a blow fell, and which blow it was."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.faults.history import Entry

# How far a run came: the furthest of these that it reached. The DNS question is the first network byte.
STAGES = (
    ("sql ledger_admit before", "asking for admission"),
    ("sql ledger_admit after", "admitted, nothing asked yet"),
    ("net ", "asking DNS"),
    ("curl open", "connecting"),
    ("curl request out", "in transfer"),
    ("curl body after", "body read, before settle"),
    ("sql ledger_settle before", "settling"),
)
# Of several blows that a call met, these explain its end: the other stores only carry messages and replies.
HEAVY = ("worker frozen", "postgres")
DEADLY = "worker killed"
RIDES = 2  # from this stage on the run had the lease


@dataclass(slots=True)
class Run:
    """One delivery as one worker's thread carried it out.

    Shape: `stage` is an index of STAGES, -1 before them; `over` is false where the worker did not live to its end.
    """

    task: str
    stage: int = -1
    over: bool = False


class Struck(Protocol):
    """A blow: its name, and from when to when it may have been felt."""

    @property
    def name(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def until(self) -> float: ...


def runs(diary: Path) -> list[Run]:
    """The runs of one worker's life, in the order in which they began. A last line that was cut off is left out."""
    if not diary.exists():
        return []
    found: list[Run] = []
    current: dict[str, Run] = {}
    for line in diary.read_text().splitlines():
        _number, thread, task, label, *_ = (*line.split(" ", 3), "")
        if task == "-" or not label:
            continue
        if label == "celery task_prerun" or current.get(thread, Run("")).task != task:
            current[thread] = Run(task)
            found.append(current[thread])
        run = current[thread]
        run.stage = max(run.stage, _stage(label))
        run.over = run.over or label == "celery task_postrun"
    return found


def _stage(label: str) -> int:
    return max((n for n, (start, _) in enumerate(STAGES) if label.startswith(start)), default=-1)


def cause(end: Entry, own: Sequence[Run], struck: Iterable[Struck]) -> str:
    """What made this end of a call other than completed, of whose deliveries these are all runs."""
    holder = _holder(own)
    if holder is None:
        return "its messages reached no worker in time"
    blow = _heaviest(end, struck) if holder.over else DEADLY
    code = "" if end["state"] == "outcome_unknown" else f": {end['code']}, {end['sent']}"
    return f"{blow}, {STAGES[holder.stage][1]}{code}"


def _heaviest(end: Entry, struck: Iterable[Struck]) -> str:
    """Of the blows that a call met, the longest one to a thing that it needed: short ones are waited for."""
    met = [one for one in struck if one.until >= end["admitted_at"] and one.at <= end["lease_until"]]
    heavy = [one for one in met if one.name.startswith(HEAVY)]
    return max(heavy or met, key=lambda one: one.until - one.at).name if met else "no blow"


def _holder(own: Sequence[Run]) -> Run | None:
    """The run that had the lease: whoever rode, else whoever asked first."""
    asked = [run for run in own if run.stage >= 0]
    return next((run for run in asked if run.stage >= RIDES), next(iter(asked), None))
