"""A rolling upgrade: workers of an older commit beside today's, on one database and one queue."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.ledger.chains import read_chain
from ops.lab.control import LabControl
from schemas.findings import verify
from tests.faults.history import entries
from tests.faults.lanes import Call, Lane
from tests.faults.launching import Blow
from tests.faults.nodes import worker_node
from tests.faults.stores import Stores
from tests.faults.sweeping import NEVER_SECONDS, Sweep
from tests.faults.table import Row
from tests.faults.trial import Trial, trying
from tests.fleet import HOUSE, wait_until

# What makes a worker of another house tell what it does; everything else there is as it was.
WATCHERS = ("crashing_worker.py", "history.py", "steps.py", "terms.py")


def git(*words: str) -> str:
    """What git says of this house, "" where it has nothing to say. Skips where there is no history."""
    if shutil.which("git") is None or not (HOUSE / ".git").exists():
        pytest.skip("the history of this house is not here: an older worker needs a git clone")
    said = subprocess.run(("git", "-c", "safe.directory=*", *words), cwd=HOUSE, capture_output=True, text=True)
    return said.stdout.strip()


def before_the_newest_migration() -> str:
    """The newest commit whose ledger is one migration behind: its workers meet tables that they do not know."""
    newest = git("log", "-1", "--diff-filter=A", "--format=%H", "--", "broker/migrations/versions")
    return git("rev-parse", "--verify", "--quiet", f"{newest}^")


def a_day_ago() -> str:
    """What ran yesterday."""
    return git("rev-list", "-1", "--first-parent", "--before=24 hours ago", "HEAD")


@pytest.fixture(params=[before_the_newest_migration, a_day_ago])
def old_house(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The house as it was at an older commit, with today's watchers in it."""
    commit = request.param()
    if not commit:
        pytest.skip(f"the history of this clone has no commit {request.param.__name__.replace('_', ' ')}")
    house = tmp_path / "old"
    house.mkdir()
    tar = tmp_path / "old.tar"
    git("archive", "--output", str(tar), commit, "schemas", "broker", "workers", "ops")
    subprocess.run(["tar", "-xf", tar, "-C", house], check=True)
    (house / "tests" / "faults").mkdir(parents=True)
    for name in WATCHERS:
        shutil.copy(HOUSE / "tests" / "faults" / name, house / "tests" / "faults")
    return house


@pytest.fixture
def old_lane(stores: Stores, sweep: Sweep, old_house: Path) -> Iterator[Lane]:
    """The older worker, on the same broker."""
    lane = Lane(0, stores, sweep.history.path.parent, mark="-old", house=old_house)
    yield lane
    lane.close()


def test_old_worker_beside_a_new_one_keeps_every_promise(
    sweep: Sweep, old_lane: Lane, old_house: Path, lab: LabControl, table: dict[str, list[Row]]
) -> None:
    """X1: both take calls of both doors, one is killed under way, and one chain holds what both have written."""
    with trying("an older worker beside today's", sweep, lab) as trial:
        chained, many = trial.calls(8), trial.calls(24)
        for call in chained:
            call.project = chained[0].project
        old_lane.launcher.begin(Blow(), visibility_seconds=NEVER_SECONDS)
        trial.work()
        for call in chained:  # a run's receipts in one chain, one after the other
            task = trial.lane.send(call)
            wait_until(lambda task=task: trial.lane.reply(task), seconds=30, what="an answer")
        for n, call in enumerate(many):
            trial.sweep.submit(call) if n % 2 else trial.lane.send(call)
        wait_until(lambda: trial.lane.unread() == 0, seconds=60, what="all were taken")
        struck = take_along(trial, old_lane)
    assert set(trial.ends()) == {"completed", "outcome_unknown"}
    assert trial.hits() == len(trial.sweep.calls)
    assert served_by(trial, old_house) >= 4, "the older worker served too few"
    assert served_by(trial, HOUSE) >= 4, "today's worker served too few"
    for call in (chained[0], *many, *struck):
        chain = read_chain(sweep.ledger, call.project, "r")
        assert (verify(chain), len(chain.links)) == ((), 8 if call is chained[0] else 1)
    table.setdefault("other faults", []).extend(trial.found)


def take_along(trial: Trial, old_lane: Lane) -> list[Call]:
    """Kill the older worker with what it has in transfer; today's answers for it."""
    calls = trial.calls(8, gate="old")
    for call in calls:
        trial.lane.send(call)
    trial.arrived(calls)
    worker_node(old_lane).kill()
    trial.release(calls)
    return calls


def served_by(trial: Trial, house: Path) -> int:
    """How many deliveries a worker of that house has carried out to their end."""
    said = list(entries(trial.sweep.history.path))
    pids = {entry["pid"] for entry in said if entry["kind"] == "life" and Path(entry["house"]) == house}
    verdicts = Counter(entry["pid"] in pids for entry in said if entry["kind"] == "verdict" and not entry["replayed"])
    return verdicts[True]
