"""Partitions: a worker in a network of its own loses its links to the stores while its fetches go on."""

from pathlib import Path

import pytest

from ops.lab.control import LabControl
from tests.faults.lanes import Lane
from tests.faults.networks import listening, own_network
from tests.faults.nodes import process_of, worker_node
from tests.faults.stores import running_stores
from tests.faults.sweeping import sweeping
from tests.faults.table import Row
from tests.faults.terms import FINALIZER_SECONDS, LEASE_SECONDS
from tests.faults.trial import trying
from tests.fleet import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

CUTS = (("ledger",), ("broker", "ledger"))


@pytest.mark.parametrize("links", CUTS, ids="+".join)
def test_worker_that_is_cut_off_past_its_lease_sends_nothing_more_and_comes_back(
    lab: LabControl, tmp_path: Path, table: dict[str, list[Row]], links: tuple[str, ...]
) -> None:
    """X1, X2: what was in transfer is unknown, nothing is admitted meanwhile, and nobody restarts the worker."""
    with (
        own_network() as network,
        running_stores(tmp_path / "home", listening) as stores,
        sweeping(stores, tmp_path, 1) as sweep,
        trying(f"worker cut off from {' and '.join(links)}, calls in transfer", sweep, lab) as trial,
    ):
        lane = Lane(0, stores, tmp_path, network.environment, mark="-far", entrance=network.entrance)
        worker = process_of(worker_node(lane))
        try:
            worker.start()
            running, waiting = trial.calls(4, gate="far"), trial.calls(4)
            for call in running:
                lane.send(call)
            trial.arrived(running)
            network.cut(*links)
            trial.release(running)
            late = [lane.send(call) for call in waiting]
            wait_until(lambda: trial.ended(running), seconds=LEASE_SECONDS + FINALIZER_SECONDS + 10, what="all ended")
            assert [lab.requests(call.target) for call in waiting] == [[]] * 4
            network.mend(*links)
            for task in late:
                wait_until(lambda task=task: lane.reply(task), seconds=60, what="the worker is back")
            worker.stop()
        finally:
            lane.close()
    assert [trial.end_of(call) for call in running] == ["outcome_unknown"] * 4
    assert [trial.end_of(call) for call in waiting] == ["completed"] * 4
    assert trial.hits() == 8
    table.setdefault("other faults, slow", []).extend(trial.found)
