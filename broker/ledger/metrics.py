"""Metrics: what Prometheus is told of the ledger: counts that only grow, and where operations stand now.

Every end is counted once, into tables of their own, by whoever looks (`ledger_tally`): so the counts outlive the
exporter, two exporters tell the same, and a look costs what is new. Decision 0012.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, text

from broker.ledger.statements import read, write
from schemas.operation import OperationState

# Longer than any statement that ends an operation may run (OPTIONS in broker.ledger.engine: 5 s), with its commit.
AGE_SECONDS = 10.0
CHUNK = 2_000  # a tenth of a second of counting

TALLY = text("SELECT ledger_tally(:limit, :age, :bounds) AS counted")
ENDS = text("SELECT tool, state, code, count FROM tally_ends")
TIMES = text("SELECT tool, phase, at_most, count, seconds FROM tally_times")
LAG = text("""
SELECT coalesce(extract(epoch FROM clock_timestamp() - (
  SELECT min(r.written_at) FROM receipts r
    WHERE (r.written_at, r.operation_id) > (SELECT written_at, operation_id FROM tally_mark)
)), 0)::double precision AS lag
""")
STANDINGS = text("""
SELECT tool, state, count(*) AS total, count(*) FILTER (WHERE lease_until <= clock_timestamp()) AS stale,
    extract(epoch FROM clock_timestamp() - min(admitted_at))::double precision AS oldest
  FROM operations WHERE state = 'pending' GROUP BY tool, state
UNION ALL
SELECT tool, state, count(*), 0, extract(epoch FROM clock_timestamp() - min(accepted_at))::double precision
  FROM operations WHERE state = 'accepted' GROUP BY tool, state
""")
DENIED = text("SELECT family, code, sum(count)::bigint AS count FROM denials GROUP BY family, code")
DENIED_MOST = text("""
SELECT project, sum(count)::bigint AS count FROM denials GROUP BY project ORDER BY count DESC, project LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How many operations ended so, ever. Shape: `code` is empty for completed ones."""

    tool: str
    state: OperationState
    code: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How many phases of one kind took no longer than `at_most`, and longer than the bound below it.

    Shape: `phase` is dns, connect, tls, first_byte, transfer, extract, or call for the whole. Unit: seconds; the last
    bound is infinity; `seconds` is their sum.
    """

    tool: str
    phase: str
    at_most: float
    count: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Operations that have not ended, by tool and state. Unit: `oldest` in seconds since admission or acceptance."""

    tool: str
    state: OperationState
    total: int
    stale: int
    oldest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """How many admissions a budget refused, ever."""

    family: str
    code: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """One look. Unit: `lag_seconds` is the age of the oldest end that is not counted yet; 0 when there is none."""

    ends: tuple[Ends, ...]
    times: tuple[Times, ...]
    standings: tuple[Standing, ...]
    denied: tuple[Denied, ...]
    denied_most: dict[str, int]
    lag_seconds: float


def tally(engine: Engine, bounds: Sequence[float], *, limit: int = CHUNK, age_seconds: float = AGE_SECONDS) -> int:
    """How many more ends were counted: less than `limit` when none is left, or when another counts.

    Shape: `bounds` are the upper bounds of the buckets that times fall in. Unit: seconds. Raises: LedgerUnavailable.
    """
    [row] = write(engine, TALLY, {"limit": limit, "age": age_seconds, "bounds": list(bounds)})
    return int(row["counted"])


def read_metrics(engine: Engine, *, projects: int) -> Metrics:
    """What is counted, where operations stand, and the `projects` that were denied most. Raises: LedgerUnavailable."""
    ends = tuple(Ends(**{**row, "state": OperationState(row["state"])}) for row in read(engine, ENDS))
    standings = (Standing(**{**row, "state": OperationState(row["state"])}) for row in read(engine, STANDINGS))
    most = read(engine, DENIED_MOST, {"limit": projects})
    return Metrics(
        ends=ends,
        times=tuple(Times(**row) for row in read(engine, TIMES)),
        standings=tuple(standings),
        denied=tuple(Denied(**row) for row in read(engine, DENIED)),
        denied_most={row["project"]: row["count"] for row in most},
        lag_seconds=read(engine, LAG)[0]["lag"],
    )
