"""The real ledger, driven by hypothesis, with the explorer's protocol as its oracle: same answers, same tables."""

import json
from dataclasses import replace
from uuid import uuid4

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import integers, sampled_from
from sqlalchemy import Engine, text

from broker.ledger.operations import admit, finalize_stale, find_ended, settle
from broker.ledger.outbox import accept, end_accepted, expire_accepted
from broker.ledger.projects import Project, save_project
from broker.ledger.tables import METADATA
from schemas import errors
from schemas.operation import Accepted, Lease, OperationState, Running, Stored
from tests.faults import protocol
from tests.faults.protocol import FINALIZER, Answer, Delivery, Law, Row, Slot
from tests.ledger_calls import ending, pass_lease, profile, request, run_sql

LAW = Law(active_max=2, step_max=2, run_max=3)
# An hour, which no pause of the machine outlasts: leases end when `pass_lease` says so.
QUOTA = profile(lease_seconds=3600, active_max=LAW.active_max, step_max=LAW.step_max, run_max=LAW.run_max)
CALLS = range(4)
OWNERS = ("one", "two")
REFUSALS = {
    errors.CapabilityDisabled: "disabled",
    errors.RunQuotaExhausted: "run exhausted",
    errors.StepQuotaExhausted: "step exhausted",
    errors.ProjectBusy: "busy",
    errors.CallConflict: "conflict",
    errors.SettingsChanged: "settings changed",
}
REFUSAL = (OperationState.REFUSED, errors.CapabilityDisabled("Not now."))
TAKEN_BACK = (OperationState.CANCELLED, errors.Cancelled("Never mind."))
TABLES = ", ".join(table.name for table in METADATA.sorted_tables)
LATER = """
UPDATE operations SET accepted_at = accepted_at - interval '1 hour', accept_until = accept_until - interval '1 hour'
  WHERE id = :id
"""
# All that the model knows of, at one instant and in one round trip.
TABLES_NOW = text("""
SELECT
  ARRAY(SELECT json_build_object('id', o.id, 'key', o.key, 'row', json_build_array(
      o.state, coalesce(o.owner, ''), o.task_id, o.arguments_digest, o.run, o.step, coalesce(o.generation, 0),
      coalesce(o.slot, 0) - 1, coalesce(o.lease_until > clock_timestamp(), false)), 'body', min(r.body),
      'receipts', count(r), 'fresh', coalesce(o.accept_until > clock_timestamp(), false), 'sealed', count(q) > 0)
    FROM operations o LEFT JOIN receipts r ON r.operation_id = o.id LEFT JOIN requests q ON q.operation_id = o.id
    GROUP BY o.id) AS operations,
  ARRAY(SELECT json_build_array(coalesce(substr(o.key, 2), '-1')::integer, s.until > clock_timestamp())
    FROM slots s LEFT JOIN operations o ON o.id = s.operation_id ORDER BY s.n) AS slots,
  ARRAY(SELECT json_build_array(scope || ' ' || name, used) FROM counters
    ORDER BY scope COLLATE "C", name COLLATE "C") AS counters
""")


class LedgerMachine(RuleBasedStateMachine):
    engine: Engine

    @initialize()
    def empty(self):
        self.leases: dict[int, Lease] = {}
        self.ids: dict[str, str] = {}
        self.model = protocol.empty(LAW, len(CALLS))
        empty_ledger(self.engine)

    @rule(
        call=sampled_from(CALLS),
        owner=sampled_from(OWNERS),
        task=sampled_from(("t1", "t2")),
        run=sampled_from(("r", "q")),
        step=sampled_from(("s", "t")),
        arguments=sampled_from("aaaab"),
    )
    def deliver(self, call, owner, task, run, step, arguments):
        one = Delivery(call, f"{owner}-{call}", task, run, step, arguments * 64)
        self.model, expected = protocol.admit(LAW, self.model, one)
        real = self.ask(admit, as_request(one))
        agree(meaning(real), expected)
        if isinstance(real, Lease):
            granted = self.leases.setdefault(call, real)
            assert (real.operation_id, real.until) == (granted.operation_id, granted.until)
            assert real.generation == self.model.rows[call].generation
            row, used = self.model.rows[call], dict(self.model.used)
            assert real.budget.run == LAW.run_max - used[f"run {row.run}"]
            assert real.budget.step == LAW.step_max - used[f"step {row.run}/{row.step}"]

    @rule(
        call=sampled_from(CALLS),
        client=sampled_from(OWNERS),
        task=sampled_from(("t1", "t2")),
        arguments=sampled_from("aaaab"),
    )
    def submit(self, call, client, task, arguments):
        one = Delivery(call, f"{client}-{call}", task, arguments=arguments * 64)
        operation_id = self.ids.setdefault(one.owner, str(uuid4()))
        row = self.model.rows[call]
        if row is not None and row.accepted_by == one.owner:  # it repeats what it said
            one = one._replace(task=row.task, arguments=row.arguments)
        self.model, expected = protocol.accept(LAW, self.model, one)
        agree(meaning(self.ask(accept, operation_id, as_request(one), b"\x01" + bytes(40))), expected)

    @rule(call=sampled_from(CALLS), ending_=sampled_from((REFUSAL, TAKEN_BACK)))
    def end_without_admission(self, call, ending_):
        state, error = ending_
        operation_id = self.id_of(call)
        if operation_id is not None:
            self.model, expected = protocol.end_accepted(LAW, self.model, call, state.value, error.code)
            agree(meaning(self.ask(end_accepted, operation_id, state, error)), expected)

    @precondition(lambda self: self.leases)
    @rule(
        pick=integers(0, CALLS[-1]),
        stranger=sampled_from((False, False, False, True)),
        state=sampled_from(("completed", "failed")),
        n=integers(0, 3),
    )
    def settle(self, pick, stranger, state, n):
        call = self.admitted(pick)
        lease = replace(self.leases[call], owner="stranger") if stranger else self.leases[call]
        end = ending(n=n) if state == "completed" else ending("failed", code="network_error", n=n)
        self.model, expected = protocol.settle(LAW, self.model, call, lease.owner, state, str(n))
        agree(meaning(self.ask(settle, lease, end)), expected)

    @rule(call=sampled_from(CALLS))
    def time_passes(self, call):
        """The lease of a call that runs is over; one that waits is late."""
        row = self.model.rows[call]
        if row is not None and row.state == "pending" and row.live:
            pass_lease(self.engine, self.leases[call])
            self.model = protocol.expire(self.model, call)
        if row is not None and row.state == "accepted":
            run_sql(self.engine, LATER, id=self.id_of(call))
            self.model = protocol.grow_late(self.model, call)

    @rule(sweep=sampled_from(((protocol.finalize, finalize_stale), (protocol.expire_accepted, expire_accepted))))
    def sweep(self, sweep):
        expected, real = sweep
        self.model, count = expected(LAW, self.model)
        agree(real(self.engine), count)

    @rule(call=sampled_from(CALLS))
    def look(self, call):
        self.model, expected = protocol.find(LAW, self.model, call)
        found = find_ended(self.engine, "p", f"k{call}")
        agree(meaning(found), expected if expected.verdict == "stored" else Answer("nothing"))

    @rule(enabled=sampled_from((True,) * 5 + (False,)))
    def save(self, enabled):
        self.model = protocol.save(self.model, enabled=enabled)
        assert open_project(self.engine, enabled=enabled).generation == self.model.generation

    @invariant()
    def tables_hold_what_the_model_holds(self):
        clients = {operation_id: client for client, operation_id in self.ids.items()}
        with self.engine.connect() as connection:
            operations, slots, counters = connection.execute(TABLES_NOW).one()
        rows = {int(found["key"][1:]): as_row(found, clients) for found in operations}
        agree(rows, {call: row for call, row in enumerate(self.model.rows) if row is not None})
        agree(tuple(Slot(*slot) for slot in slots) or self.model.slots, self.model.slots)
        agree(tuple(tuple(counter) for counter in counters), self.model.used)

    def admitted(self, pick):
        """One of the calls that were admitted, early ones rather than late ones."""
        return sorted(self.leases)[pick % len(self.leases)]

    def id_of(self, call):
        """The id of a call that a client of ours submitted."""
        row = self.model.rows[call]
        return None if row is None else self.ids.get(row.accepted_by)

    def ask(self, work, *values):
        try:
            return work(self.engine, *values)
        except tuple(REFUSALS) as refusal:
            return Answer(REFUSALS[type(refusal)])
        except errors.Internal as error:
            if "lease" not in str(error):
                raise
            return Answer("stranger")


def agree(real, expected):
    assert real == expected, f"the ledger says {real}, the protocol {expected}"


def empty_ledger(engine):
    run_sql(engine, f"TRUNCATE {TABLES}")
    open_project(engine)


def open_project(engine, *, enabled=True):
    return save_project(engine, Project(id="p", enabled=enabled, fetch_enabled=True, agents=("a",)), actor="tests")


def as_request(one, quota=QUOTA):
    names = {"run": one.run, "step": one.step, "owner": one.owner, "task_id": one.task}
    return request(profile=quota, key=f"k{one.call}", arguments_digest=one.arguments, **names)


def as_row(found, clients):
    """What a row of the real table is in the model's words."""
    state, *rest = found["row"]
    end = "" if found["body"] is None else who_of(found["body"])
    client = clients.get(found["id"], "")
    return Row(plain(state), *rest, end, found["receipts"], client, found["fresh"], found["sealed"])


def who_of(body):
    """Whose account a receipt is: a settler's number, the finalizer, or what ended the call before its admission."""
    told = json.loads(body)
    code = (told.get("error") or {}).get("code")
    return str(told.get("n", FINALIZER if code == errors.OutcomeUnknown.code else code))


def meaning(real):
    """What the ledger's answer is in the model's words."""
    match real:
        case Answer():
            return real
        case Lease():
            return Answer("lease")
        case Accepted():
            return Answer("accepted")
        case Running():
            return Answer("running", who=real.task_id)
        case Stored():
            return Answer("stored", plain(real.state.value), who_of(real.body))
        case None:
            return Answer("nothing")


def plain(state):
    return "unknown" if state == "outcome_unknown" else state


def drive(engine, *, examples, steps=40, shrink=True):
    """Any sequence of events gives what the model says. Raises: the first difference."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    run_state_machine_as_test(
        type("Machine", (LedgerMachine,), {"engine": engine}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,  # a shared machine may pause any step
            database=None,
            phases=phases,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            derandomize=examples < 200,
        ),
    )
