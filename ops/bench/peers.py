"""Peers: how fast others read the same pages from the same origins, each in a loop, in a process of its own."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

LOOPS = Path(__file__).with_name("loops.py")
NAMES = {
    "requests": "requests.get + trafilatura",
    "session": "requests.Session + trafilatura",
    "mcp": "mcp-server-fetch",
}
PATIENCE_SECONDS = 60.0  # beyond the loop's own time: imports on a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What a peer did. Shape: `trouble` says why there are no figures."""

    name: str
    pages_per_second: float = 0.0
    cpu_milliseconds: float = 0.0
    empty: int = 0
    trouble: str | None = None


def peers(python: Path, urls: tuple[str, ...], seconds: float) -> list[Peer]:
    """All peers, one after the other."""
    if not python.is_file():
        return [Peer(name=name, trouble=f"no {python}: see `make bench`") for name in NAMES.values()]
    return [_measure(python, peer, urls, seconds) for peer in NAMES]


def _measure(python: Path, peer: str, urls: tuple[str, ...], seconds: float) -> Peer:
    # Without node on the PATH: readabilipy would try to install Readability.js from the network at each page.
    with tempfile.TemporaryDirectory() as nothing:
        ended = subprocess.run(
            [python, "-W", "ignore", LOOPS, peer, str(seconds), *urls],
            env=os.environ | {"PATH": nothing},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds + PATIENCE_SECONDS,
        )
    if ended.returncode != 0:
        last = ended.stderr.strip().splitlines()[-1:] or ["no word"]
        return Peer(name=NAMES[peer], trouble=last[0])
    told = json.loads(ended.stdout)
    return Peer(
        name=NAMES[peer],
        pages_per_second=told["pages"] / told["seconds"],
        cpu_milliseconds=1000 * told["cpu_seconds"] / told["pages"],
        empty=told["empty"],
    )
