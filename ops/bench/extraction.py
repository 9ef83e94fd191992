"""The benchmark of extraction: `python -m ops.bench.extraction [--corpora FOLDER]`. No network, no stack.

Everything is measured in one run on one machine, the rival page by page in turn with us, so that the ratios hold
although the machine is shared. Nothing is asserted.
"""

import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from ops.bench.constructs import Constructs, of_markdown, shares, word_f1
from ops.bench.corpora import Page, pages, suites
from ops.bench.floods import FLOODS, written
from ops.bench.reports import REPORTS, failing
from schemas.errors import OutriderError
from schemas.profiles import WEB_FETCH
from workers.extract import html
from workers.extract.document import extract
from workers.extract.version import extractor

LARGE = 2_000_000
_STAGES = (
    "tame", "parse", "read_head", "read_body", "judge_genre", "grow_enough", "weigh", "is_listing", "choose", "prune",
    "render", "tidied", "fit", "ranked",
)  # fmt: skip
_NOWHERE = "https://page.example/"
Reader = Callable[[bytes, str], str]


def ours(body: bytes, url: str) -> str:
    """The Markdown of a page; empty where nothing is to be read."""
    try:
        return extract(body, content_type="text/html", base_url=url or _NOWHERE, limits=WEB_FETCH.limits).text
    except OutriderError:
        return ""


def rival() -> Reader | None:
    """trafilatura, where it is installed (`make bench` makes an environment that has it)."""
    if importlib.util.find_spec("trafilatura") is None:
        return None
    module = importlib.import_module("trafilatura")

    def read(body: bytes, url: str) -> str:
        return module.extract(body, url=url or None, output_format="markdown", include_comments=False,
                              include_formatting=True, include_tables=True) or ""  # fmt: skip

    return read


class Score:
    """What one reader made of one suite, page by page."""

    def __init__(self) -> None:
        self.f1: list[tuple[float, float, float]] = []
        self.kept: list[tuple[Constructs, Constructs]] = []
        self.seconds = 0.0

    def read(self, reader: Reader, page: Page) -> None:
        """Read one page, on the processor's clock."""
        began = time.process_time()
        text = reader(page.body, page.url)
        self.seconds += time.process_time() - began
        said, got = of_markdown(text)
        self.f1.append(word_f1(said, page.truth))
        self.kept.append((page.held, got))

    def told(self) -> dict[str, Any]:
        """The scores of the suite."""
        kinds = shares(self.kept)
        precision, recall, f1 = (mean(column) for column in zip(*self.f1, strict=True))
        structure = mean(kinds.values()) if kinds else 0.0
        return {"f1": f1, "precision": precision, "recall": recall, "structure": structure, **kinds,
                "ms_a_page": 1e3 * self.seconds / len(self.f1)}  # fmt: skip


def scores(suite: Path, limit: int | None) -> dict[str, Any]:
    """Ours and the rival's scores on one suite, and how many times faster we are."""
    readers = {"outrider": ours, "trafilatura": rival()}
    found = {name: Score() for name, reader in readers.items() if reader}
    for number, page in enumerate(pages(suite, limit)):
        turn = list(found.items())
        for name, score in turn if number % 2 else reversed(turn):
            score.read(readers[name], page)  # type: ignore[arg-type]
    told: dict[str, Any] = {name: score.told() for name, score in found.items()}
    if "trafilatura" in found:
        told["times_as_fast"] = found["trafilatura"].seconds / found["outrider"].seconds
    return told


def stages(bodies: list[bytes]) -> dict[str, float]:
    """The share of the time that each stage takes, nested ones taken out of those around them."""
    spent: defaultdict[str, float] = defaultdict(float)
    whole = {name: getattr(html, name) for name in _STAGES}

    def watched(name: str) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return whole[name](*args, **options)
            finally:
                spent[name] += time.process_time() - began

        return run

    for name in _STAGES:
        setattr(html, name, watched(name))
    began = time.process_time()
    for body in bodies:
        ours(body, _NOWHERE)
    total = time.process_time() - began
    for name, function in whole.items():
        setattr(html, name, function)
    return {
        **{name: spent[name] / total for name in _STAGES},
        "the rest, with freeing": 1 - sum(spent.values()) / total,
    }


def page_of(name: str, size: int) -> bytes:
    """A flood, or the ordinary page, of about that size."""
    inside = written(size) if name == "written" else FLOODS[name](size)
    return f"<!doctype html><html><head><title>t</title></head><body>{inside}".encode()


def growth(name: str) -> list[float]:
    """Milliseconds for a quarter, a half and the whole of 2 MB: linear where each about doubles."""
    found = []
    for size in (LARGE // 4, LARGE // 2, LARGE):
        body = page_of(name, size)
        began = time.process_time()
        ours(body, _NOWHERE)
        found.append(1e3 * (time.process_time() - began))
    return found


def weighed(name: str) -> dict[str, Any]:
    """One flood of 2 MB in a process of its own: how it grows, and the process's peak."""
    done = subprocess.run(
        [sys.executable, "-m", "ops.bench.extraction", "--one", name], capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main(
    *,
    corpora: Annotated[Path | None, typer.Option(help="A folder of suites; see ops/bench/corpora.py.")] = None,
    limit: Annotated[int | None, typer.Option(help="Pages of a suite, spread over all.")] = None,
    cases: Annotated[Path | None, typer.Option(help="Reports of bad pages; see ops/bench/reports.py.")] = None,
    one: Annotated[str | None, typer.Option(hidden=True)] = None,
    as_json_object: Annotated[bool, typer.Option("--json", help="Print one JSON object, alone, on stdout.")] = False,
) -> None:
    """Score extraction on corpora, weigh it under floods, and say where its time goes."""
    if one is not None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        times = growth(one)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        typer.echo(json.dumps({"milliseconds": times, "megabytes": peak / 1_000, "at_rest": before / 1_000}))
        return
    found: dict[str, Any] = {"extractor": extractor(), "suites": {}}
    bodies = [page_of("written", LARGE // 8)]
    for name, suite in suites(corpora) if corpora else ():
        found["suites"][name] = scores(suite, limit)
        bodies += [page.body for page in pages(suite, 40)]
    found["reports"] = failing(cases or REPORTS, ours)
    found["stages"] = stages(bodies)
    found["floods"] = {name: weighed(name) for name in ("written", *FLOODS)}
    typer.echo(json.dumps(found, indent=1) if as_json_object else "\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"extractor: {found['extractor']}", ""]
    for suite, told in found["suites"].items():
        lines += [_score_line(suite, who, told[who]) for who in ("outrider", "trafilatura") if who in told]
        if "times_as_fast" in told:
            lines.append(f"{suite:12} {told['times_as_fast']:.2f} times as fast")
    lines += ["", f"reports that fail: {found['reports'] or 'none'}"]
    lines += ["", "share of the time:", *(f"  {name:24} {share:6.1%}" for name, share in found["stages"].items())]
    lines += ["", "2 MB of                             1/4      1/2      1/1 ms   peak MB (at rest)"]
    return [*lines, *(_flood_line(name, told) for name, told in found["floods"].items())]


def _score_line(suite: str, who: str, row: dict[str, float]) -> str:
    return f"{suite:12} {who:12} " + " ".join(f"{name} {value:.3f}" for name, value in row.items())


def _flood_line(name: str, told: dict[str, Any]) -> str:
    times = " ".join(f"{one:8.0f}" for one in told["milliseconds"])
    return f"  {name:32} {times}   {told['megabytes']:8.0f} ({told['at_rest']:.0f})"


if __name__ == "__main__":
    typer.run(main)
