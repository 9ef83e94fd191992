"""Chains as they are stored: all receipts of a run with what the operations' rows say of them, in one snapshot."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, RowMapping, text

from broker.ledger.receipts import is_id
from broker.ledger.statements import read
from schemas.chain import Chain, Head, Link, Row

_FIELDS = """
o.project, o.run, o.step, o.agent, o.key AS call, o.tool, o.arguments_digest AS arguments_sha256, o.state, o.code,
o.sent, r.operation_id::text AS operation_id, r.position, r.body, r.digest, r.link
"""
# One statement, so that the head is of the same instant as the receipts.
CHAIN = text(f"""
SELECT kept.*, c.length, c.head FROM (SELECT * FROM chains WHERE project = :project AND run = :run) c
FULL JOIN (
  SELECT {_FIELDS}, o.id::text AS id FROM operations o LEFT JOIN receipts r ON r.operation_id = o.id
    WHERE o.project = :project AND o.run = :run AND o.ended_at IS NOT NULL
) kept ON kept.project = c.project
ORDER BY kept.position, kept.id
""")  # noqa: S608 - constants
# Receipts that name the run and that its operations do not lead to: their operation's row was removed or altered. No
# index helps; it is asked only where a place of the chain is empty.
STRAYS = text(f"""
SELECT {_FIELDS} FROM receipts r LEFT JOIN operations o ON o.id = r.operation_id
  WHERE r.position <> ALL(:positions) AND r.operation_id::text <> ALL(:known)
    AND strpos(r.body, :project) > 0 AND strpos(r.body, :run) > 0
  ORDER BY r.position, r.operation_id LIMIT 1000
""")  # noqa: S608 - constants
RUN_OF = text("""
SELECT o.project, o.run, o.state, r.body FROM (SELECT * FROM operations WHERE id = :id) o
FULL JOIN (SELECT * FROM receipts WHERE operation_id = :id) r ON r.operation_id = o.id
""")


def read_chain(engine: Engine, project: str, run: str) -> Chain:
    """Everything that is kept of the run's receipts; empty where nothing is. Raises: LedgerUnavailable."""
    rows = read(engine, CHAIN, {"project": project, "run": run})
    kept = [row for row in rows if row["position"] is not None]
    head = next((Head(length=row["length"], link=row["head"]) for row in rows if row["length"] is not None), None)
    bare = tuple(row["id"] for row in rows if row["id"] is not None and row["position"] is None)
    links = tuple(_link(row) for row in kept)
    if head is not None and {link.position for link in links} != set(range(1, head.length + 1)):
        links += _strays(engine, project, run, links)
    return Chain(project=project, run=run, links=links, head=head, bare=bare, with_rows=True)


def run_of(engine: Engine, operation_id: str) -> tuple[str, str] | None:
    """The project and the run of an operation that has ended, or of a receipt without one; None where there is neither.

    Raises: LedgerUnavailable.
    """
    rows = read(engine, RUN_OF, {"id": operation_id}) if is_id(operation_id) else []
    if not rows:
        return None
    [row] = rows
    if row["project"] is not None:
        return None if row["body"] is None and row["state"] in ("accepted", "pending") else (row["project"], row["run"])
    try:
        body = json.loads(row["body"])
        return str(body["project"]), str(body["run"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _strays(engine: Engine, project: str, run: str, links: Iterable[Link]) -> tuple[Link, ...]:
    values = {
        "positions": [link.position for link in links],
        "known": [link.operation_id for link in links],
        "project": f'"project":{json.dumps(project, ensure_ascii=False)}',
        "run": f'"run":{json.dumps(run, ensure_ascii=False)}',
    }
    return tuple(_link(row) for row in read(engine, STRAYS, values))


def _link(row: RowMapping) -> Link:
    fields: dict[str, Any] = {name: row[name] for name in Link.__dataclass_fields__ if name != "row"}
    kept = None if row["state"] is None else Row(**{name: row[name] for name in Row.__dataclass_fields__})
    return Link(**fields, row=kept)
