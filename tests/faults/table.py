"""The table of faults: what was struck where, what left the machine, how it ended, and after how long."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.history import Entry
from tests.faults.lanes import Call

HEAD = """# Faults

Written by the fault suite, `make faults`; not by hand. Each row is a fault at a point of a worker's way, with real
processes: how many runs (and which k, where the point was counted), the most requests that the counting origin wrote
into its own book for one call, how the calls ended in the ledger, and the longest time from admission to the end. The
sweep's lease is {lease:g} s and the finalizer comes every 5 s: an end by the finalizer comes within {lease:g} + 7 s.
The soak is told twice: as one row, and by causes. There each end that is not `completed` has the blow that its worker
met, and how far the worker had come; before them, in brackets, how often each blow fell.
"""
COLUMNS = ("point", "runs", "k", "egress", "ends", "seconds to the end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    point: str
    runs: int = 1
    k: str = ""
    egress: int | None = None
    ends: str = ""
    seconds: float | None = None

    def cells(self) -> tuple[str, ...]:
        egress = "" if self.egress is None else str(self.egress)
        seconds = "" if self.seconds is None else f"{self.seconds:.1f}"
        return (self.point, str(self.runs), self.k, egress, self.ends, seconds)


def rows(calls: Sequence[Call], said: Iterable[Entry]) -> list[Row]:
    """A row for each point, in the order of the walk."""
    hits: Counter[str] = Counter()
    ends: dict[str, Entry] = {}
    for entry in said:
        if entry["kind"] == "hit":
            hits[entry["call"]] += 1
        elif entry["kind"] == "terminal":
            ends[entry["call"]] = entry
    by_point: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_point[call.point].append(call)
    return [
        Row(
            point=point,
            runs=len(there),
            k=_ranges(sorted(call.at for call in there if call.at is not None)),
            egress=max(hits[call.key] for call in there),
            ends=_counted(_end(ends[call.key]) for call in there),
            seconds=round(max(ends[call.key]["at"] - ends[call.key]["admitted_at"] for call in there), 3),
        )
        for point, there in by_point.items()
    ]


def _end(entry: Entry) -> str:
    """A state; one that is not as wished, with its cause."""
    state, code = entry["state"], entry.get("code")
    return f"{state} ({code})" if code is not None and state != "outcome_unknown" else str(state)


def _counted(states: Iterable[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(Counter(states).items()))


def _ranges(numbers: Sequence[int]) -> str:
    """`3-5, 9` for 3, 4, 5, 9."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def write(path: Path, lease_seconds: float, sections: dict[str, list[Row]]) -> None:
    """Put these sections into the file; what other runs wrote under other names stays."""
    kept: dict[str, str] = {}
    if path.exists():
        for part in re.split(r"^## ", path.read_text(), flags=re.MULTILINE)[1:]:
            name, _, body = part.partition("\n")
            kept[name] = body.strip()
    kept |= {name: _markdown(lines) for name, lines in sections.items()}
    text = "\n".join(f"## {name}\n\n{body}\n" for name, body in kept.items())
    path.write_text(f"{HEAD.format(lease=lease_seconds)}\n{text}")


def _markdown(lines: Sequence[Row]) -> str:
    table = [COLUMNS, tuple("---" for _ in COLUMNS), *(line.cells() for line in lines)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table)
