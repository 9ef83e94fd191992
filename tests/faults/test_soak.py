"""The soak: thousands of calls by both doors while a seeded nemesis strikes the worker and the stores under it."""

import os
import random
import time
from collections import Counter, defaultdict
from contextlib import suppress

import pytest
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from ops.lab.control import LabControl
from tests.faults.causes import Run, cause
from tests.faults.nemesis import Nemesis
from tests.faults.sweeping import Sweep
from tests.faults.table import Row, rows
from tests.faults.trial import Trial, trying

pytestmark = [pytest.mark.long, pytest.mark.timeout(7_200)]

OPERATIONS = int(os.environ.get("OUTRIDER_SOAK_OPERATIONS", "10000"))
SECONDS = float(os.environ.get("OUTRIDER_SOAK_SECONDS", "1800"))
SEED = int(os.environ.get("OUTRIDER_SOAK_SEED", random.randrange(1 << 32)))
SECTION = "the soak, by what made its ends"
# A silent PostgreSQL keeps the finalizer from its work, for a lease and 3 s each time; and such blows may follow blows.
EXCUSED_SECONDS = 60.0


def test_soak_under_a_seeded_nemesis_loses_repeats_and_strands_nothing(
    sweep: Sweep, lab: LabControl, table: dict[str, list[Row]]
) -> None:
    """X1: OUTRIDER_SOAK_OPERATIONS calls over OUTRIDER_SOAK_SECONDS, under blows that OUTRIDER_SOAK_SEED draws."""
    fault = f"soak of {OPERATIONS} operations in {SECONDS:g} s, seed {SEED}"
    with trying(fault, sweep, lab, excused_seconds=EXCUSED_SECONDS) as trial:
        nemesis = Nemesis(trial.nodes, trial.lane, SEED)
        begun = time.monotonic()
        while len(sweep.calls) < OPERATIONS:
            nemesis.strike()
            due = OPERATIONS * min(1.0, (time.monotonic() - begun) / SECONDS) - len(sweep.calls)
            ask(trial, max(2, round(due)))
        nemesis.rest()
    nemesis.look_back()
    assert len(trial.ends()) == len(sweep.calls)
    assert trial.hits() <= len(sweep.calls)
    table.setdefault("other faults, slow", []).extend(trial.found)
    table[SECTION] = [*blows(nemesis), *explained(trial, nemesis)]


def ask(trial: Trial, count: int) -> None:
    """New calls, by either door in turn; every other one's page has to be extracted."""
    for page in ("plain", "page"):
        for n, call in enumerate(trial.calls(count // 2, page=page)):
            if n % 2:
                trial.sweep.submit(call)
                continue
            with suppress(KombuError, RedisError, OSError):  # the broker is away: the call is asked for again later
                trial.lane.send(call)


def blows(nemesis: Nemesis) -> list[Row]:
    """How often each blow fell."""
    fell = Counter(blow.name for blow in nemesis.struck)
    return [Row(point=f"({name})", runs=count) for name, count in sorted(fell.items())]


def explained(trial: Trial, nemesis: Nemesis) -> list[Row]:
    """A row for each cause of an end other than completed, the most frequent first."""
    done: defaultdict[str, list[Run]] = defaultdict(list)
    for run in nemesis.lives:
        done[run.task].append(run)
    ends = {entry["call"]: entry for entry in trial.judged if entry["kind"] == "terminal"}
    hurt = [call for _lane, call in trial.sweep.calls if ends[call.key]["state"] != "completed"]
    for call in hurt:
        call.point = cause(ends[call.key], [run for task in call.tasks for run in done[task]], nemesis.struck)
    return sorted(rows(hurt, trial.judged), key=lambda row: (-row.runs, row.point))
