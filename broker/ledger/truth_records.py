"""Records of runs: their searches and fetches, read from the receipts alone."""

import json
from typing import Any

from sqlalchemy import Engine, RowMapping, text

from broker.ledger.statements import read
from schemas.errors import ReplayChanged
from schemas.operation import OperationState
from schemas.receipt import digest_of
from schemas.truth import FETCH, SEARCH
from schemas.truth_record import Account, Record

# Operations past their lease are finalized by being looked at. Two statements: the second sees what the first wrote.
STALE = text("""
SELECT count(*) FILTER (WHERE ledger_finalize(id)) FROM operations
  WHERE state = 'pending' AND lease_until <= (SELECT clock_timestamp()) AND project = :project AND run = :run
""")
_FIELDS = "o.id::text AS operation_id, o.tool, o.state, o.code, o.admitted_at"
# Two halves, each of which has an index of its own: what has ended in this run, and what is under way anywhere.
ACCOUNTS = text(f"""
SELECT {_FIELDS}, r.body, r.digest FROM operations o JOIN receipts r ON r.operation_id = o.id
  WHERE o.project = :project AND o.run = :run AND o.ended_at IS NOT NULL AND o.tool IN (:search, :fetch)
UNION ALL
SELECT {_FIELDS}, NULL, NULL FROM operations o
  WHERE o.state = 'pending' AND o.project = :project AND o.run = :run AND o.tool IN (:search, :fetch)
ORDER BY admitted_at
""")  # noqa: S608 - constants


def read_record(engine: Engine, project: str, run_id: str) -> Record:
    """All that the run searched and fetched. Raises: LedgerUnavailable; ReplayChanged for an altered receipt."""
    place = {"project": project, "run": run_id}
    read(engine, STALE, place)
    rows = read(engine, ACCOUNTS, place | {"search": SEARCH, "fetch": FETCH})
    accounts = [(row["tool"], _account(row)) for row in rows]
    return Record(
        searches=tuple(account for tool, account in accounts if tool == SEARCH),
        fetches=tuple(account for tool, account in accounts if tool == FETCH),
    )


def _account(row: RowMapping) -> Account:
    if row["body"] is not None and digest_of(row["body"]) != row["digest"]:
        raise ReplayChanged("A receipt of the run was altered.", operation=row["operation_id"])
    state = OperationState(row["state"])
    value: dict[str, Any] | None = None
    if state is OperationState.COMPLETED:
        value = json.loads(row["body"])["value"]
    return Account(operation_id=row["operation_id"], state=state, code=row["code"], value=value, digest=row["digest"])
