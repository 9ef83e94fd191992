"""The real SQL obeys the protocol that was explored, and no guard of it can be broken unseen (X1, X2, M142-M151)."""

from functools import partial

import pytest

from broker.ledger.engine import ledger_engine
from broker.ledger.migrate import upgrade
from schemas.errors import OutriderError
from tests.faults import chain_checks, ledger_checks, outbox_checks
from tests.faults.ledger_machine import drive, empty_ledger
from tests.faults.mutations import Scoreboard
from tests.faults.sql_mutants import MACHINE, MUTANTS, SECOND_WALLS, broken

# An assertion, a refusal that did not come, or one that should not have: never a fault of the harness.
NOTICED = (AssertionError, pytest.fail.Exception, OutriderError)
CHECKS = ledger_checks.CHECKS + outbox_checks.CHECKS + chain_checks.CHECKS
# The very checks that pass on the ledger as it is, by name.
DETECTORS = {check.__name__: check for check in CHECKS} | {MACHINE: partial(drive, examples=150, shrink=False)}


@pytest.fixture(scope="module")
def breakable(postgres):
    """An engine of a migrated database that nobody else uses."""
    postgres.execute("CREATE DATABASE breakable")
    url = postgres.url("breakable")
    upgrade(url)
    engine = ledger_engine(url, size=8)
    yield engine
    engine.dispose()
    postgres.execute("DROP DATABASE breakable WITH (FORCE)")


@pytest.fixture(scope="module")
def scoreboard():
    board = Scoreboard("SQL")
    yield board
    board.show()


@pytest.mark.parametrize("examples", [60, pytest.param(1500, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_ledger_obeys_the_protocol_when_events_come_in_any_order(ledger, examples):
    drive(ledger, examples=examples)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_ledger_keeps_its_word_when(ledger, check):
    empty_ledger(ledger)
    check(ledger)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_broken_guard_is_caught_when(breakable, mutant, scoreboard):
    """The check passes on the ledger as it is (above), so what it says here is the broken guard's doing."""
    empty_ledger(breakable)
    check = DETECTORS[mutant.caught_by]
    with broken(breakable, mutant), pytest.raises(NOTICED) as caught:
        check(breakable)
    scoreboard.note(mutant.name, str(caught.value).partition("\n")[0])


@pytest.mark.long
@pytest.mark.parametrize("mutant", SECOND_WALLS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_second_wall_is_not_missed_when_the_first_stands(breakable, mutant):
    """So a mutant that breaks both is no less honest than one of each: the first alone is what the ledger stands on."""
    empty_ledger(breakable)
    with broken(breakable, mutant):
        DETECTORS[mutant.caught_by](breakable)
