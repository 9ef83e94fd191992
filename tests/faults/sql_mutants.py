"""The real ledger with one guard broken: small edits of its functions, each of which some check must notice.

An edit's text must stand exactly once in the newest file of its function, so that no mutant is silently none. Where the
ledger has a second wall behind the first, a mutant breaks both and says so; `SECOND_WALLS` are those that nobody would
miss alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker.ledger.migrate import MIGRATIONS

NO_TRIGGERS = ("ALTER TABLE operations DISABLE TRIGGER USER", "ALTER TABLE receipts DISABLE TRIGGER receipts_final")
TRIGGERS = ("ALTER TABLE operations ENABLE TRIGGER USER", "ALTER TABLE receipts ENABLE TRIGGER USER")
RESERVING = "ledger_admit ledger_reserve"
MACHINE = "ledger_obeys_the_protocol"


@dataclass(frozen=True)
class Edit:
    """One replacement, in the one of these functions that holds the text."""

    functions: str
    old: str
    new: str = ""


@dataclass(frozen=True)
class Mutant:
    """`caught_by`: the machine, or a check's name. `untriggered`: the triggers that keep ended rows are off, too."""

    name: str
    caught_by: str
    edits: tuple[Edit, ...] = ()
    untriggered: bool = False


def _one(name: str, caught_by: str, function: str, old: str, new: str = "") -> Mutant:
    return Mutant(name, caught_by, (Edit(function, old, new),))


_MUTEX = "PERFORM pg_advisory_xact_lock(hashtextextended(p_project || ' ' || p_key, 0));"
_LATE = "op.state = 'pending' AND op.lease_until <= clock_timestamp()"
_TOO_LATE = "op.state = 'accepted' AND op.accept_until <= clock_timestamp()"
_RECEIPTLESS = ("INSERT INTO receipts", "RETURN answer; INSERT INTO receipts")
_FINALIZE_LEASE = Edit("ledger_finalize", " AND lease_until <= clock_timestamp()")
_STALE_LEASE = Edit("ledger_finalize_stale", " AND lease_until <= (SELECT clock_timestamp())")
_SETTLED = Edit(
    "ledger_settle",
    "IF op.state <> 'pending' THEN\n    RETURN ledger_repeat(op, op.tool, op.arguments_digest, p_owner);\n  END IF;",
)
_NO_STRANGER = Edit(
    "ledger_settle",
    "RAISE EXCEPTION USING ERRCODE = 'OR021', MESSAGE = 'lease_not_known', "
    "DETAIL = json_build_object('operation', p_id)::text;",
    "NULL;",
)
_TAKEN = "operation_id = answer.operation_id, until = answer.lease_until"
_REPLACING = """VALUES (p_id, p_body, p_digest, clock_timestamp())
    ON CONFLICT (operation_id) DO UPDATE SET body = excluded.body, digest = excluded.digest
"""
_BY_RUN = 'project COLLATE "C", run COLLATE "C", '
_SECOND_LEASE = (
    "UPDATE operations SET owner = p_owner, lease_until = clock_timestamp() + interval '1 hour' WHERE id = op.id;"
)

MUTANTS = (
    # Leases
    _one(
        "admission gives a second lease when the first is over",
        MACHINE,
        "ledger_repeat",
        "PERFORM ledger_finalize(op.id);",
        _SECOND_LEASE,
    ),
    _one("admission repeats a lease that is over", MACHINE, "ledger_repeat", _LATE, "false"),
    _one("admission gives the lease to whoever asks", MACHINE, "ledger_repeat", "op.owner = p_owner", "true"),
    _one("admission does not know its owner again", MACHINE, "ledger_repeat", "op.owner = p_owner", "false"),
    _one(
        "admission does not look at the arguments",
        MACHINE,
        "ledger_repeat",
        " OR op.arguments_digest <> p_arguments_digest",
    ),
    _one(
        "deliveries of one call do not meet at a mutex",
        "a_twin_is_told_who_runs_and_never_busy",
        "ledger_admit",
        _MUTEX,
    ),
    # Ends
    Mutant("finalization does not wait for the lease's end (both guards)", MACHINE, (_FINALIZE_LEASE, _STALE_LEASE)),
    _one(
        "finalization moves rows that have ended",
        "a_reader_who_waited_for_a_settle_is_given_its_end",
        "ledger_finalize",
        " AND state = 'pending'",
    ),
    _one(
        "finalization writes no receipt",
        MACHINE,
        "ledger_finalize",
        _RECEIPTLESS[0],
        f"RETURN true; {_RECEIPTLESS[0]}",
    ),
    _one("the finalizer finds nothing", MACHINE, "ledger_finalize_stale", "state = 'pending'", "state = 'none'"),
    _one(
        "the finalizer waits for locked rows",
        "a_finalizer_passes_by_what_others_hold",
        "ledger_finalize_stale",
        " SKIP LOCKED\n    )",
        "\n    )",
    ),
    Mutant(
        "settle knows no owner (both guards)",
        MACHINE,
        (_NO_STRANGER, Edit("ledger_settle", " AND owner = p_owner")),
    ),
    _one("settle refuses to be repeated", MACHINE, "ledger_settle", _SETTLED.old),
    Mutant(
        "settle overwrites what has ended (all four guards)",
        MACHINE,
        (
            _SETTLED,
            Edit("ledger_settle", " AND owner = p_owner AND state = 'pending'", " AND owner = p_owner"),
            Edit("ledger_settle", "VALUES (p_id, p_body, p_digest, clock_timestamp())\n", _REPLACING),
        ),
        untriggered=True,
    ),
    _one("settle does not lock the row", "a_settle_that_waited_sees_the_save", "ledger_settle", " FOR UPDATE;", ";"),
    _one("settle does not look at the settings", MACHINE, "ledger_settle", " AND generation = op.generation"),
    _one("settle withholds failures, too", MACHINE, "ledger_settle", "IF p_state = 'completed' THEN", "IF true THEN"),
    Mutant("ended rows may be changed", "ended_rows_refuse_every_change", untriggered=True),
    # The outbox
    _one(
        "a late call is admitted",
        "a_late_call_is_not_admitted",
        "ledger_admit",
        " AND op.accept_until > clock_timestamp()",
    ),
    _one("any task admits what was accepted", MACHINE, "ledger_admit", "op.task_id = p_task_id AND "),
    _one(
        "any arguments are admitted",
        "an_accepted_call_is_admitted_with_its_own_arguments_alone",
        "ledger_admit",
        " AND op.arguments_digest = p_arguments_digest",
    ),
    _one("a delivery says whose count it is", MACHINE, "ledger_admit", "coalesce(op.run, p_run)", "p_run"),
    _one(
        "an accepted row is admitted without its lock",
        "a_worker_who_waited_for_a_client_is_told_that_the_call_is_taken_back",
        "ledger_admit",
        " FOR UPDATE;",
        ";",
    ),
    _one(
        "an acceptance is not known again",
        "an_acceptance_is_known_again_however_far_it_came",
        "ledger_accept",
        " AND op.id <> p_id",
    ),
    _one("what runs is taken back", MACHINE, "ledger_end_accepted", " AND state = 'accepted'"),
    _one("an end without admission has no receipt", MACHINE, "ledger_end_accepted", *_RECEIPTLESS),
    _one("a request outlives its call", MACHINE, "ledger_forget_request", "operation_id = NEW.id", "false"),
    _one(
        "a request is not kept",
        MACHINE,
        "ledger_accept",
        "VALUES (p_id, p_sealed)",
        "SELECT p_id, p_sealed WHERE false",
    ),
    _one("readers leave a late call as it is", "a_reader_ends_what_is_late", "ledger_repeat", _TOO_LATE, "false"),
    _one(
        "the sweeper ends nothing",
        "a_sweeper_ends_what_is_late",
        "ledger_expire_accepted",
        "state = 'accepted'",
        "state = 'none'",
    ),
    Mutant(
        "the sweeper ends what is not late (both guards)",
        MACHINE,
        (
            Edit("ledger_expire", " AND accept_until <= clock_timestamp()"),
            Edit("ledger_expire_accepted", " AND accept_until <= (SELECT clock_timestamp())"),
        ),
    ),
    _one(
        "a message is posted before it is due",
        "a_message_is_due_in_its_time_and_once",
        "ledger_claim_posts",
        " AND post_at <= (SELECT clock_timestamp())",
    ),
    _one(
        "a message is posted at every look",
        "a_message_is_due_in_its_time_and_once",
        "ledger_claim_posts",
        "SET post_at = clock_timestamp() + make_interval",
        "SET post_at = clock_timestamp() - make_interval",
    ),
    # Chains
    _one(
        "a link covers its own receipt alone",
        "receipts_of_a_run_form_a_chain",
        "ledger_link",
        "ledger_follow(c.head, NEW.digest)",
        "ledger_follow(ledger_genesis(c.project, c.run), NEW.digest)",
    ),
    _one("leases order the chains", "a_finalizer_takes_chains_in_one_order", "ledger_finalize_stale", _BY_RUN),
    _one("age orders the chains", "a_sweeper_takes_chains_in_one_order", "ledger_expire_accepted", _BY_RUN),
    # Settings
    _one(
        "a switched-off project is served",
        "a_switched_off_project_admits_nothing",
        "ledger_permit",
        "NOT settings.enabled OR ",
    ),
    _one(
        "fetch has no switch of its own",
        "fetch_has_a_switch_of_its_own",
        "ledger_permit",
        " OR (p_family = 'fetch' AND NOT settings.fetch_enabled)",
    ),
    _one(
        "any agent is admitted",
        "only_permitted_agents_are_admitted",
        "ledger_permit",
        "p_agent <> ALL (settings.agents)",
        "false",
    ),
    _one(
        "an admission notes the first generation",
        "an_admission_notes_the_settings_of_its_time",
        "ledger_permit",
        "RETURN settings.generation",
        "RETURN 1",
    ),
    # Slots
    _one(
        "a slot is not taken",
        MACHINE,
        "ledger_admit",
        "answer.operation_id, until = answer.lease_until",
        "answer.operation_id, until = until",
    ),
    _one(
        "a slot in use is taken",
        MACHINE,
        "ledger_take_slot",
        "n <= p_active_max AND until <= clock_timestamp()\n",
        "n <= p_active_max\n",
    ),
    _one(
        "a slot is taken without its lock",
        "one_slot_is_never_given_to_two_racers",
        "ledger_take_slot",
        " FOR UPDATE SKIP LOCKED",
    ),
    _one(
        "a slot is waited for", "nobody_waits_for_a_slot", "ledger_take_slot", " FOR UPDATE SKIP LOCKED", " FOR UPDATE"
    ),
    _one(
        "a slot above the maximum is taken",
        "a_lowered_maximum_leaves_the_upper_slots_unused",
        "ledger_take_slot",
        " AND n <= p_active_max AND until <= clock_timestamp()\n",
        " AND until <= clock_timestamp()\n",
    ),
    _one(
        "families share their slots",
        "families_have_slots_of_their_own",
        "ledger_take_slot",
        "SELECT n INTO taken FROM slots\n      WHERE project = p_project AND family = p_family",
        "SELECT n INTO taken FROM slots\n      WHERE project = p_project",
    ),
    _one(
        "a busy project is let through",
        "a_full_project_is_busy",
        "ledger_take_slot",
        "RAISE EXCEPTION",
        "RETURN 1; RAISE EXCEPTION",
    ),
    _one(
        "a slot is not freed by settle",
        MACHINE,
        "ledger_settle",
        "UPDATE slots SET operation_id = NULL, until = '-infinity'",
        "UPDATE slots SET operation_id = operation_id",
    ),
    _one(
        "a slot is freed whoever holds it",
        "a_zombies_settle_leaves_the_slot_to_its_new_holder",
        "ledger_settle",
        " AND operation_id = p_id",
    ),
    # Quotas and pace
    _one(
        "the last reservation is given to two racers",
        "a_steps_last_reservation_is_never_given_to_two_racers",
        "ledger_count",
        " WHERE c.used < p_max",
    ),
    _one("a reservation is not counted", MACHINE, "ledger_count", "c.used + 1", "c.used"),
    _one(
        "an exhausted quota is told as busy",
        "exhausted_is_told_before_busy",
        RESERVING,
        "used >= p_run_max",
        "false",
    ),
    _one(
        "steps of all runs are one",
        "a_steps_count_is_its_runs_own",
        RESERVING,
        "ledger_count(p_project, p_family, 'step', p_run || '/' || p_step,",
        "ledger_count(p_project, p_family, 'step', p_step,",
    ),
    _one(
        "the pace is not kept",
        "a_start_within_the_gap_is_refused",
        "ledger_pace",
        " WHERE p.next_at <= clock_timestamp()",
    ),
    _one(
        "the pace is not taken",
        "two_racers_start_a_gap_apart",
        RESERVING,
        "PERFORM ledger_pace(p_project, p_family, p_gap_seconds);",
        "PERFORM 1;",
    ),
)

# Guards that stand behind others: broken alone, each must change nothing that anybody could see.
SECOND_WALLS = (
    *(
        Mutant(f"{mutant.name}: {number}", mutant.caught_by, (edit,))
        for mutant in MUTANTS
        for number, edit in enumerate(mutant.edits)
        if len(mutant.edits) > 1 and edit not in (_SETTLED, _NO_STRANGER)
    ),
    _one(  # the unique key stands behind it
        "clients of one call do not meet at a mutex",
        "a_client_who_waited_for_a_worker_is_told_that_the_call_runs",
        "ledger_accept",
        _MUTEX,
    ),
)


def source(function: str) -> str:
    """The function as the newest migration has it."""
    return max(_versions(function)).read_text(encoding="utf-8")


def exists(function: str) -> bool:
    """Whether any migration makes it."""
    return bool(_versions(function))


def _versions(function: str) -> list[Path]:
    return list(Path(MIGRATIONS, "functions").glob(f"*/{function}.sql"))


def edited(mutant: Mutant) -> dict[str, str]:
    """The functions that the mutant changes, as it has them. Raises: ValueError when an edit does not fit just once."""
    changed: dict[str, str] = {}
    for edit in mutant.edits:
        texts = {name: changed.get(name) or source(name) for name in edit.functions.split() if exists(name)}
        found = [name for name, text in texts.items() for _ in range(text.count(edit.old))]
        if len(found) != 1:
            raise ValueError(f"{mutant.name}: {edit.old!r} stands {len(found)} times in {edit.functions}")
        changed[found[0]] = texts[found[0]].replace(edit.old, edit.new)
    return changed


@contextmanager
def broken(engine, mutant: Mutant) -> Iterator[None]:
    """The ledger of this engine, broken as the mutant has it until the block ends."""
    changed = edited(mutant)
    try:
        _run(engine, *(NO_TRIGGERS if mutant.untriggered else ()), *changed.values())
        yield
    finally:
        _run(engine, *TRIGGERS, *(source(function) for function in changed))


def _run(engine, *statements):
    with engine.connect().execution_options(no_parameters=True) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
