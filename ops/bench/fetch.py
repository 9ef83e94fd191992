"""The benchmark of web_fetch: `outrider lab python -m ops.bench.fetch`, in the private internet and one run.

Everything is measured on this machine within minutes of everything else, so that the ratios hold although the machine
is shared; kinds of load are taken in turn, and medians of the turns are shown.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ops.bench.idle import latency
from ops.bench.kinds import NOOP, PAGES, QUICK, SITES, WARM, WHOLE, Effort
from ops.bench.load import Kind, Measured, batch
from ops.bench.peers import peers
from ops.bench.report import Findings, Machine, as_json, as_table
from ops.bench.stand import Stand, stand
from ops.lab.control import LabControl

OUTSIDE = """ops.bench.fetch measures inside the private internet, and this is not it. Run:
  outrider lab python -m ops.bench.fetch"""
USAGE = 64  # EX_USAGE of sysexits.h


def main(
    *,
    as_json_object: Annotated[bool, typer.Option("--json", help="Print one JSON object, alone, on stdout.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="One round, under a minute.")] = False,
    peer_python: Annotated[
        Path | None,
        typer.Option(
            help="A Python that has ops/locks/bench.txt; default: .venv-bench's, else this one.", metavar="PATH"
        ),
    ] = None,
) -> None:
    """Measure the fleet in the private internet, beside no-op tasks and other fetchers. Asserts nothing."""
    if "OUTRIDER_LAB" not in os.environ:
        typer.echo(OUTSIDE, err=True)
        raise typer.Exit(USAGE)
    for host, entry in SITES.items():
        LabControl().site(host, **entry)
    found = measure(QUICK if quick else WHOLE, peer_python or _peers_own())
    typer.echo(json.dumps(as_json(found)) if as_json_object else as_table(found))


def _peers_own() -> Path:
    own = Path(".venv-bench/bin/python").absolute()
    return own if own.is_file() else Path(sys.executable)


def measure(effort: Effort, peer_python: Path) -> Findings:
    """Everything, in one run."""
    began, busy = time.monotonic(), os.getloadavg()[0]
    with stand() as bench:
        batch(bench, NOOP, WARM)  # once it is done, the worker has imported what it needs
        fresh = bench.accounts.memory()
        loads = _loads(bench, effort)
        warm = bench.accounts.memory()
        idle = latency(bench, PAGES[0], effort.idle_calls)
        others = peers(peer_python, PAGES, effort.peer_seconds)
        ended = bench.ended()
    machine = Machine(cores=os.cpu_count() or 1, load_before=busy, seconds=time.monotonic() - began)
    return Findings(machine=machine, loads=loads, idle=idle, fresh=fresh, warm=warm, peers=others, ended=ended)


def _loads(bench: Stand, effort: Effort) -> dict[Kind, list[Measured]]:
    """Every kind in turn, round by round, after a little of each that warms the threads, pools and children."""
    found: dict[Kind, list[Measured]] = {kind: [] for kind in effort.sizes}
    for kind in effort.sizes:
        batch(bench, kind, WARM)
    for turn in range(effort.rounds):
        for kind, size in effort.sizes.items():
            found[kind].append(batch(bench, kind, size))
            _say(f"round {turn + 1}: {kind.name}: {found[kind][-1].rate:.0f}/s")
    return found


def _say(line: str) -> None:
    typer.echo(line, err=True)


if __name__ == "__main__":
    typer.run(main)
