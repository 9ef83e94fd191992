"""The protocol, explored whole: no order of faults breaks a promise, and every guard that it has is needed (X1, X2).

`pytest -s` prints the number of states and, for each broken guard, the shortest way to the promise that it breaks.
"""

import re
import sys
from pathlib import Path

import pytest

from tests.faults.explorer import CASES, LARGE, explore
from tests.faults.mutations import GUARDS, Scoreboard

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def scoreboard():
    board = Scoreboard("protocol")
    yield board
    board.show()


@pytest.mark.parametrize(
    "cases", [CASES, pytest.param(LARGE, marks=[pytest.mark.long, pytest.mark.timeout(1800)])], ids=["pairs", "all"]
)
def test_protocol_keeps_every_promise_when_faults_come_in_any_order(cases):
    """M43, M44, M139, M142-M144, M148, M150, X1, X2: in every state that it can reach."""
    found = explore(cases)

    sys.stdout.write(f"\n{found.state_count} states of the protocol explored\n")
    assert (found.broken, found.path) == ("", ())
    assert found.state_count > 40_000  # fewer would mean that some fault no longer happens


@pytest.mark.parametrize("guard", GUARDS)
def test_protocol_breaks_a_promise_when_one_guard_is_broken(guard, scoreboard):
    found = explore(CASES, guard)

    assert found.broken == GUARDS[guard], found.path
    scoreboard.note(f"without: {guard}", f"{len(found.path)} steps: {' / '.join(found.path)}")


def test_every_guard_of_the_model_is_mutated_when_listed():
    used = {name for path in (HERE / "protocol.py", HERE / "world.py") for name in guards_in(path)}

    assert used == set(GUARDS)
    assert len(GUARDS) >= 12  # asked for: at least twelve


def guards_in(path):
    return re.findall(r'keeps\("([^"]+)"\)', path.read_text(encoding="utf-8"))
