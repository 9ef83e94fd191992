"""The report: what was found, beside the targets, as a table or as one object."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ops.bench.account import CLIENT, Memory
from ops.bench.idle import Latency
from ops.bench.kinds import BARE, HTML, LATENCY_SECONDS, NOOP, PLAIN, SLOW_HTML, SLOW_PLAIN
from ops.bench.load import Kind, Measured
from ops.bench.peers import Peer
from ops.bench.stand import IN_FLIGHT

MB = 1_000_000
CEILING = IN_FLIGHT / LATENCY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where it was measured. Shape: `load_before` is the run queue's length before the run, others' work."""

    cores: int
    load_before: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that one run found. Shape: `loads` has one measurement a round, in order."""

    machine: Machine
    loads: dict[Kind, list[Measured]]
    idle: Latency
    fresh: Memory
    warm: Memory
    peers: list[Peer]
    ended: dict[str, int]

    def rate(self, kind: Kind) -> float:
        """Operations per second, the rounds' median."""
        return median(one.rate for one in self.loads[kind])

    def ratio(self, kind: Kind, base: Kind) -> float:
        """The median of the rates' ratios, each within one round: a busy minute weighs on both."""
        return median(one.rate / other.rate for one, other in zip(self.loads[kind], self.loads[base], strict=True))

    def cpu(self, kind: Kind) -> dict[str, float]:
        """Microseconds of CPU per operation of each part, the rounds' medians."""
        rounds = self.loads[kind]
        return {part: median(one.cpu_micros[part] for one in rounds) for part in rounds[0].cpu_micros}

    def peak(self) -> Memory:
        """The most that was resident with all threads fetching."""
        return max((one.peak for one in self.loads[SLOW_HTML]), key=lambda peak: peak.main)


@dataclass(frozen=True, slots=True)
class Target:
    """One promise beside its figure."""

    what: str
    figure: float | None
    wanted: str
    met: bool | None


def targets(found: Findings) -> list[Target]:
    """The targets of the benchmark, each with yes or no, or None where nothing was measured."""
    growth = (found.peak().main - found.fresh.main) / IN_FLIGHT / MB
    rows = [
        _target("web_fetch without extraction / no-op", found.ratio(PLAIN, NOOP), ">= 0.60", lambda it: it >= 0.60),
        _pace("200 ms without extraction", found.rate(SLOW_PLAIN)),
        _pace("200 ms with extraction", found.rate(SLOW_HTML)),
        _target("idle p50 over the origin's own, ms", found.idle.over_origin, "<= 5", lambda it: it <= 5),
        _target("MB resident per concurrent fetch", growth, "< 2", lambda it: it < 2),
    ]
    for peer in found.peers:
        pace = None if peer.trouble else found.rate(HTML) / peer.pages_per_second
        rows.append(_target(f"pages/s / {peer.name}", pace, "> 1", lambda it: it > 1))
    return rows


def _pace(what: str, rate: float) -> Target:
    return _target(f"{what}: rate / (in flight / latency)", rate / CEILING, ">= 0.90", lambda it: it >= 0.90)


def _target(what: str, figure: float | None, wanted: str, judge: Callable[[float], bool]) -> Target:
    return Target(what, figure, wanted, None if figure is None else judge(figure))


def as_json(found: Findings) -> dict[str, Any]:
    """The whole run as one object. Unit: per second, microseconds, milliseconds, bytes, as the names say."""
    return {
        "machine": asdict(found.machine),
        "in_flight": IN_FLIGHT,
        "loads": {
            kind.name: {
                "per_second": round(found.rate(kind), 1),
                "per_second_rounds": [round(one.rate, 1) for one in rounds],
                "ratio_to_noop": round(found.ratio(kind, NOOP), 3),
                "cpu_microseconds": {part: round(used) for part, used in found.cpu(kind).items()},
                "outcomes": _summed(one.outcomes for one in rounds),
                "ledger": _summed(one.ledger for one in rounds),
            }
            for kind, rounds in found.loads.items()
        },
        "idle_milliseconds": asdict(found.idle) | {"over_origin": found.idle.over_origin},
        "resident_bytes": {
            "fresh": asdict(found.fresh),
            "warm": asdict(found.warm),
            "in_flight_peak": asdict(found.peak()),
        },
        "peers": [asdict(peer) for peer in found.peers],
        "ledger": found.ended,
        "targets": [asdict(target) for target in targets(found)],
    }


def _summed(tables: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for table in tables:
        for name, number in table.items():
            total[name] = total.get(name, 0) + number
    return total


def as_table(found: Findings) -> str:
    """The run as lines to read."""
    return "\n".join((*_rates(found), "", *_costs(found), "", *_rest(found), "", *_verdicts(found)))


def _rates(found: Findings) -> Iterator[str]:
    yield f"{'kind of load':<32}{'per second':>11}{'/ no-op':>9}   rounds; how the calls ended"
    for kind, rounds in found.loads.items():
        each = " ".join(f"{one.rate:.0f}" for one in rounds)
        ends = _words(_summed(one.outcomes for one in rounds)) or "not asked"
        yield f"{kind.name:<32}{found.rate(kind):>11.1f}{found.ratio(kind, NOOP):>9.2f}   {each}; {ends}"


def _costs(found: Findings) -> Iterator[str]:
    parts = list(found.cpu(NOOP))
    yield (
        f"{'CPU per operation, µs':<32}"
        + "".join(f"{part:>{len(part) + 2}}" for part in parts)
        + "  all but the client"
    )
    for kind in found.loads:
        used = found.cpu(kind)
        total = sum(used.values()) - used[CLIENT]
        yield f"{kind.name:<32}" + "".join(f"{used[part]:>{len(part) + 2}.0f}" for part in parts) + f"{total:>20.0f}"


def _rest(found: Findings) -> Iterator[str]:
    idle, fresh, warm, peak = found.idle, found.fresh, found.warm, found.peak()
    yield (
        f"idle round trip: p50 {idle.p50:.1f} ms, p99 {idle.p99:.1f} ms; the origin alone {idle.origin_p50:.1f} and "
        f"{idle.origin_p99:.1f} ms; one durable write {idle.disk_p50:.1f} ms, and a call has two "
        f"({idle.completed} of {idle.calls} completed)"
    )
    yield (
        f"resident: worker {fresh.main / MB:.0f} MB fresh, {peak.main / MB:.0f} MB with {IN_FLIGHT} in flight "
        f"({peak.main / MB / IN_FLIGHT:.1f} MB each, all told), {warm.main / MB:.0f} MB at rest afterwards; extraction "
        f"children {peak.children / MB:.0f} MB"
    )
    yield (
        f"the same parts without guard, ledger or extraction (bare exchange): {found.ratio(BARE, NOOP):.2f} of no-op, "
        f"idle p50 {idle.parts_p50:.1f} ms; web_fetch reaches {found.ratio(PLAIN, BARE):.2f} of their rate"
    )
    for peer in found.peers:
        yield f"{peer.name}: " + (
            peer.trouble
            or f"{peer.pages_per_second:.1f} pages/s, {peer.cpu_milliseconds:.1f} ms CPU a page, {peer.empty} empty"
        )
    machine = found.machine
    yield (
        f"ledger: {_words(found.ended)}; {machine.cores} cores, load {machine.load_before:.1f} before the run, "
        f"which took {machine.seconds:.0f} s"
    )


def _verdicts(found: Findings) -> Iterator[str]:
    for target in targets(found):
        figure = "none" if target.figure is None else f"{target.figure:.2f}"
        verdict = {True: "yes", False: "NO", None: "not measured"}[target.met]
        yield f"{target.what:<60}{figure:>8}   wanted {target.wanted:<8} {verdict}"


def _words(table: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(table.items()))
