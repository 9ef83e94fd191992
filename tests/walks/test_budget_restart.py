"""Budgets of parallel children, spent on both sides of a blow that ends everything: stores, workers, beat, all at once.

Nothing is given back and nothing is counted twice: the origins' own books say how often each was asked.
"""

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg2
import pytest

from ops.lab.control import LabControl
from ops.lab.engine import block, results_page
from schemas.profiles import WEB_FETCH, WEB_SEARCH
from tests.fleet import Fleet, running_fleet, wait_until
from tests.stores import rows, store_of

ENGINE = "html.duckduckgo.com"
FOUND = results_page([block("Title", "https://good.example/", "Words.")])
PAGE = "http://cheap.example/"
BUSY = {"project_busy", "cooldown"}
BACK_SECONDS = 30


@pytest.fixture
def own_fleet(lab: LabControl, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet that may be hurt."""
    lab.site(ENGINE, site="page", body=FOUND)
    lab.site("cheap.example", site="page", type="text/plain", body="A cheap page.")
    with running_fleet(tmp_path / "fleet", "--port-base", "7000") as fleet:
        yield fleet


class Run:
    """One top-level run of one project, whose children are its steps."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.project, self.run = fleet, fleet.project(), f"r-{uuid4().hex[:8]}"
        self.left: dict[str, list[int]] = {"search": [], "fetch": []}  # of the run, as the replies said

    def child(self, step: int | str) -> dict[str, str]:
        return self.fleet.context(project=self.project, run=self.run, step=f"s-{step}")

    def call(self, family: str, step: int | str) -> dict[str, Any]:
        """One call of a child, made again for as long as the project is busy with its siblings'."""
        while True:
            envelope = self._ask(family, self.child(step))
            if (envelope["error"] or {}).get("code") not in BUSY:
                self.left[family] += [envelope["value"]["budget"]["run"]] if envelope["value"] else []
                return envelope

    def _ask(self, family: str, context: dict[str, str]) -> dict[str, Any]:
        if family == "fetch":
            return self.fleet.fetch(PAGE, context=context)
        # As if two seconds had gone by since the last search.
        rows(self.fleet, "UPDATE pacing SET next_at = '-infinity' WHERE project = %s", self.project)
        return self.fleet.search("words", context=context)

    def spend(self, wanted: dict[tuple[str, int], int]) -> dict[tuple[str, int], Counter[str | None]]:
        """How the calls of each child ended, by code: every child calls at the same time as its siblings."""

        def child(family: str, step: int, calls: int) -> Counter[str | None]:
            envelopes = [self.call(family, step) for _ in range(calls)]
            return Counter(None if one["error"] is None else one["error"]["code"] for one in envelopes)

        with ThreadPoolExecutor(len(wanted)) as pool:
            ends = {key: pool.submit(child, *key, calls) for key, calls in wanted.items()}
            return {key: end.result() for key, end in ends.items()}


def answers(fleet: Fleet) -> bool:
    with suppress(psycopg2.OperationalError):
        return bool(rows(fleet, "SELECT 1"))
    return False


def strike(fleet: Fleet) -> None:
    """Kill everything but the supervisor, at once, and see that new processes do its work."""
    struck = psutil.Process(fleet.process.pid).children()
    database, workers = store_of(fleet, "postgres"), fleet.workers()
    for process in struck:
        process.send_signal(signal.SIGQUIT if process == database else signal.SIGKILL)
    for name in ("postgres", "broker", "results"):
        wait_until(lambda name=name: store_of(fleet, name) not in struck, seconds=BACK_SECONDS, what=f"{name} is back")
    wait_until(lambda: answers(fleet), seconds=BACK_SECONDS, what="PostgreSQL has recovered")
    wait_until(
        lambda: len(fleet.workers()) >= len(workers) and not set(fleet.workers()) & set(workers),
        seconds=BACK_SECONDS,
        what="the workers are back",
    )


def test_budgets_hold_for_parallel_children_across_a_restart_of_everything(own_fleet: Fleet, lab: LabControl) -> None:
    """M92, M142, M143, M146, M151, issue 4: 20 and 40 a step, 100 and 200 a run, half of them before the blow.

    One fetch is under way when it falls: it was reserved, so it is spent, though nobody will ever know how it ended.
    """
    run = Run(own_fleet)
    quotas = {"search": WEB_SEARCH.quota, "fetch": WEB_FETCH.quota}
    keys = [(family, step) for family, quota in quotas.items() for step in range(quota.run_max // quota.step_max)]
    half = {key: quotas[key[0]].step_max // 2 for key in keys}
    assert run.spend(half) == {key: Counter({None: calls}) for key, calls in half.items()}
    for family, quota in quotas.items():  # M92: what was left at each one's own admission, whoever asked beside it
        assert sorted(run.left[family]) == list(range(quota.run_max // 2, quota.run_max))
    own_fleet.send("https://counted.example/hold/blow", context=run.child(0))
    lab.await_requests("/hold/blow")

    strike(own_fleet)

    ends = run.spend({key: calls + 2 for key, calls in half.items()})
    for family, step in keys:
        lost = int((family, step) == ("fetch", 0))
        assert ends[family, step][None] == half[family, step] - lost, (family, step)
        refused = set(ends[family, step]) - {None}
        assert refused <= {"step_quota_exhausted", "run_quota_exhausted"}, (family, step)
    for family in quotas:
        late = run.call(family, "fresh")
        assert (late["outcome"], late["error"]["code"]) == ("refused", "run_quota_exhausted")
    assert sum(lab.hits(ENGINE).values()) == quotas["search"].run_max
    assert sum(lab.hits("cheap.example").values()) == quotas["fetch"].run_max - 1
    assert len(lab.requests("/hold/blow")) == 1
