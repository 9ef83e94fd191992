"""What the ledger tells Prometheus: ends, phases, leases, denials."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, product

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from broker.ledger.denials import BUDGETS
from broker.ledger.engine import Ledger
from broker.ledger.metrics import CHUNK, Denied, Ends, Metrics, Standing, Times, read_metrics, tally
from schemas.errors import Cancelled, Internal, OutcomeUnknown
from schemas.operation import OperationState
from schemas.tools import catalogue

# A DNS answer from a cache takes a millisecond, the longest profile 90 s.
BOUNDS_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
PHASES = ("dns", "connect", "tls", "first_byte", "transfer", "extract")
PROJECTS = 10  # a label that tenants choose: the ten that were denied most are enough to know whom to speak to
CHUNKS = 10  # what one scrape counts at most, so that it ends within its ten seconds; the next one goes on

OUTCOMES = {
    OperationState.COMPLETED: "completed",
    OperationState.REFUSED: "refused",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "cancelled",
    OperationState.OUTCOME_UNKNOWN: "unknown",
}
# Told as 0 from the beginning: a counter that appears with its first event hides that event from increase().
AWAITED = (
    (OperationState.COMPLETED, ""),
    (OperationState.FAILED, Internal.code),
    (OperationState.CANCELLED, Cancelled.code),
    (OperationState.OUTCOME_UNKNOWN, OutcomeUnknown.code),
)

_log = structlog.get_logger(__name__)


def catch_up(ledger: Ledger, *, chunks: int | None = None) -> None:
    """Count what ended since anybody counted: all of it, or so many chunks. Raises: LedgerUnavailable."""
    done = 0
    while tally(ledger, BOUNDS_SECONDS) >= CHUNK and done != chunks:
        done += 1


@dataclass(frozen=True, slots=True)
class LedgerCollector:
    """Reads the ledger at each scrape. One that cannot be read is told as such, and by nothing else."""

    ledger: Ledger

    def collect(self) -> Iterator[Metric]:
        """The ledger's metrics, as they are now."""
        up = GaugeMetricFamily("outrider_ledger_up", "1 when PostgreSQL answered this scrape.")
        try:
            catch_up(self.ledger, chunks=CHUNKS)
            found = read_metrics(self.ledger, projects=PROJECTS)
        except Exception as error:  # noqa: BLE001 - whatever it is, the scrape tells that there was no answer
            _log.warning("ledger_not_read", exception=type(error).__name__)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _families(found)


def _families(found: Metrics) -> Iterator[Metric]:
    yield _operations(found.ends)
    yield _histogram(
        "outrider_call_seconds",
        "Admitted calls, from their delivery to their settling.",
        [one for one in found.times if one.phase == "call"],
        tuple(catalogue()),
    )
    yield _phases(found.times)
    yield from _standings(found.standings)
    yield _denied(found.denied)
    most = CounterMetricFamily(
        "outrider_project_budget_denials", "The same, of the projects that were denied most.", labels=["project"]
    )
    for project, count in found.denied_most.items():
        most.add_metric([project], count)
    yield most
    lag = GaugeMetricFamily("outrider_tally_lag_seconds", "Age of the oldest end that is not counted here yet.")
    lag.add_metric([], found.lag_seconds)
    yield lag


def _operations(ends: Iterable[Ends]) -> Metric:
    counts = {(tool, state, code): 0 for tool, (state, code) in product(catalogue(), AWAITED)}
    counts |= {(one.tool, one.state, one.code): one.count for one in ends}
    family = CounterMetricFamily("outrider_operations", "Operations that ended.", labels=["tool", "outcome", "code"])
    for (tool, state, code), count in counts.items():
        family.add_metric([tool, OUTCOMES[state], code], count)
    return family


def _phases(times: Iterable[Times]) -> Metric:
    family = HistogramMetricFamily(
        "outrider_phase_seconds",
        "Phases of exchanges and extractions that came to their end.",
        labels=["tool", "phase"],
    )
    known = sorted((one for one in times if one.phase in PHASES), key=_series)
    told = {key: list(rows) for key, rows in groupby(known, key=_series)}
    for tool, phase in dict.fromkeys((*product(catalogue(), PHASES), *told)):
        buckets, seconds = _buckets(told.get((tool, phase), []))
        family.add_metric([tool, phase], buckets, seconds)
    return family


def _histogram(name: str, words: str, times: list[Times], tools: tuple[str, ...]) -> Metric:
    family = HistogramMetricFamily(name, words, labels=["tool"])
    for tool in dict.fromkeys((*tools, *(one.tool for one in times))):
        buckets, seconds = _buckets([one for one in times if one.tool == tool])
        family.add_metric([tool], buckets, seconds)
    return family


def _series(one: Times) -> tuple[str, str]:
    return one.tool, one.phase


def _buckets(times: list[Times]) -> tuple[list[tuple[str, float]], float]:
    """Prometheus's buckets, each with all below it. Bounds of an earlier release count where they belong."""
    buckets = []
    for bound in (*BOUNDS_SECONDS, float("inf")):
        count = sum(one.count for one in times if one.at_most <= bound)
        buckets.append(("+Inf" if bound == float("inf") else str(bound), float(count)))
    return buckets, sum(one.seconds for one in times)


def _standings(standings: Iterable[Standing]) -> Iterator[Metric]:
    by_place = {(one.tool, one.state): one for one in standings}
    tools = dict.fromkeys((*catalogue(), *(tool for tool, _state in by_place)))
    leases = GaugeMetricFamily(
        "outrider_leases", "Pending operations, by whether their lease is over.", labels=["tool", "state"]
    )
    pending = GaugeMetricFamily(
        "outrider_oldest_pending_seconds", "Since the oldest pending operation was admitted.", labels=["tool"]
    )
    accepted = GaugeMetricFamily(
        "outrider_accepted_operations", "Accepted calls that wait for a worker.", labels=["tool"]
    )
    waiting = GaugeMetricFamily(
        "outrider_oldest_accepted_seconds", "Since the oldest of them was accepted.", labels=["tool"]
    )
    for tool in tools:
        held = by_place.get((tool, OperationState.PENDING))
        leases.add_metric([tool, "live"], held.total - held.stale if held else 0)
        leases.add_metric([tool, "stale"], held.stale if held else 0)
        pending.add_metric([tool], held.oldest if held else 0)
        late = by_place.get((tool, OperationState.ACCEPTED))
        accepted.add_metric([tool], late.total if late else 0)
        waiting.add_metric([tool], late.oldest if late else 0)
    yield from (leases, pending, accepted, waiting)


def _denied(denied: Iterable[Denied]) -> Metric:
    families: list[str] = sorted({tool.profile.family for tool in catalogue().values()})
    counts = {(family, budget.code): 0 for family, budget in product(families, BUDGETS)}
    counts |= {(one.family, one.code): one.count for one in denied}
    told = CounterMetricFamily(
        "outrider_budget_denials", "Admissions that a budget refused, each try.", labels=["family", "code"]
    )
    for (family, code), count in counts.items():
        told.add_metric([family, code], count)
    return told
