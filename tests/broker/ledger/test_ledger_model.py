"""The ledger against a model of ten lines: any sequence of events gives what the model says (M142-M151)."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import integers, sampled_from
from sqlalchemy import Engine

from broker.ledger.operations import admit, finalize_stale, find_ended, settle
from broker.ledger.projects import Project, read_project, save_project
from schemas import errors
from schemas.operation import Lease, OperationState, Running, Stored
from tests.ledger_calls import ending, failed, pass_lease, profile, request, run_sql

QUOTA = profile(step_max=3, run_max=4, active_max=2)
KEYS, STEPS, RUNS = ("k1", "k2", "k3", "k4", "k5", "k6"), ("s1", "s2"), ("r1", "r2")
TABLES = "operations, requests, receipts, slots, pacing, counters, projects, audit"


@dataclass
class Known:
    """What the model knows of one call."""

    lease: Lease
    stale: bool = False
    stored: Stored | None = None


@dataclass
class Model:
    generation: int = 1
    used: dict[tuple[str, str], int] = field(default_factory=dict)
    calls: dict[str, Known] = field(default_factory=dict)

    def active(self) -> int:
        return sum(not known.stale and known.stored is None for known in self.calls.values())

    def refusal(self, run: str, step: str) -> type[Exception] | None:
        if self.used.get(("run", run), 0) >= QUOTA.quota.run_max:
            return errors.RunQuotaExhausted
        if self.used.get(("step", f"{run}/{step}"), 0) >= QUOTA.quota.step_max:
            return errors.StepQuotaExhausted
        return errors.ProjectBusy if self.active() >= QUOTA.quota.active_max else None


class LedgerMachine(RuleBasedStateMachine):
    engine: Engine

    @initialize()
    def empty(self):
        run_sql(self.engine, f"TRUNCATE {TABLES}")
        save_project(self.engine, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
        self.model = Model()

    @rule(
        key=sampled_from(KEYS),
        run=sampled_from(RUNS),
        step=sampled_from(STEPS),
        same_owner=sampled_from((True, False)),
    )
    def deliver(self, key, run, step, same_owner):
        owner = {"owner": f"owner-{key}"} if same_owner else {}
        known, refusal = self.model.calls.get(key), self.model.refusal(run, step)
        one = request(profile=QUOTA, key=key, run=run, step=step, **owner)
        if known is None and refusal is not None:
            with pytest.raises(refusal):
                admit(self.engine, one)
            return
        answer = admit(self.engine, one)
        if known is None:
            assert isinstance(answer, Lease)
            self.model.calls[key] = Known(answer)
            for scope in (("run", run), ("step", f"{run}/{step}")):
                self.model.used[scope] = self.model.used.get(scope, 0) + 1
        elif known.stored or known.stale:
            self.ends(known, answer)
        elif one.owner == known.lease.owner:
            assert (answer.operation_id, answer.until) == (known.lease.operation_id, known.lease.until)
        else:
            assert isinstance(answer, Running)

    @rule(key=sampled_from(KEYS), completes=sampled_from((True, False)), number=integers(0, 3))
    def settle(self, key, completes, number):
        known = self.model.calls.get(key)
        if known is None:
            return
        end = ending(n=number) if completes else failed()
        if known.stored is None and completes and known.lease.generation != self.model.generation:
            with pytest.raises(errors.SettingsChanged):
                settle(self.engine, known.lease, end)
            return
        stored = settle(self.engine, known.lease, end)
        assert stored == (known.stored or stored)
        assert known.stored or stored.digest == end.digest
        known.stored = stored

    @rule(key=sampled_from(KEYS))
    def let_the_lease_end(self, key):
        known = self.model.calls.get(key)
        if known is not None and known.stored is None and not known.stale:
            pass_lease(self.engine, known.lease)
            known.stale = True

    @rule()
    def finalize(self):
        stale = [known for known in self.model.calls.values() if known.stale and known.stored is None]
        assert finalize_stale(self.engine) == len(stale)
        for known in stale:
            self.ends(known, settle(self.engine, known.lease, failed()))

    @rule(key=sampled_from(KEYS))
    def look(self, key):
        known, found = self.model.calls.get(key), find_ended(self.engine, "p", key)
        if known is None or not (known.stored or known.stale):
            assert found is None
        else:
            self.ends(known, found)

    @rule()
    def save(self):
        self.model.generation = save_project(self.engine, read_project(self.engine, "p"), actor="tests").generation

    @invariant()
    def counters_and_receipts_are_those_of_the_model(self):
        counted = {
            (row.scope, row.name): row.used for row in run_sql(self.engine, "SELECT scope, name, used FROM counters")
        }
        assert counted == self.model.used
        [[ended]] = run_sql(self.engine, "SELECT count(*) FROM receipts")
        assert ended == sum(known.stored is not None for known in self.model.calls.values())

    def ends(self, known, answer):
        """The stored end, or the unknown one that a stale call gets by being looked at."""
        assert isinstance(answer, Stored)
        assert answer == known.stored or (
            known.stored is None and known.stale and answer.state is OperationState.OUTCOME_UNKNOWN
        )
        known.stored = answer


@pytest.mark.parametrize("examples", [40, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_ledger_agrees_with_the_model_when_events_come_in_any_order(ledger, examples):
    run_state_machine_as_test(
        type("Machine", (LedgerMachine,), {"engine": ledger}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,  # a shared machine may pause any step
            database=None,
            suppress_health_check=list(HealthCheck),
            derandomize=examples < 100,
        ),
    )
