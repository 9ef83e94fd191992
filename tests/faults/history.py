"""The history of a run and its judge: what was accepted, delivered, sent, ended, read and answered, in one file.

The judge is a function of the entries alone. It knows nothing of the product but what was promised: at most one
request, one end that never changes, an end in time, an answer for everybody.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Entry = dict[str, Any]
GRACE_SECONDS = 2.0


class History:
    """An append-only file of JSON lines that several processes write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, kind: str, **facts: Any) -> None:
        """Append one entry, in one write."""
        os.write(self._file, json.dumps({"at": time.time(), "kind": kind, **facts}).encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


def entries(path: Path) -> Iterator[Entry]:
    """All of a history, oldest first."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that a history breaks."""

    call: str
    promise: str
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Unit: seconds. How long after a lease its end may be written, and what is added for a slow machine."""

    finalizer: float
    grace: float = GRACE_SECONDS


def judge(history: Iterable[Entry], bounds: Bounds) -> list[Breach]:
    """Every breach of a promise, by call.

    Shape of entries: `accepted` call; `hit` call, at; `terminal` call, state, sent, digest, at, lease_until (one a
    write, changes included); `read` call, digest; `reply` call, outcome; others are for human readers.
    """
    calls: defaultdict[str, defaultdict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in history:
        if "call" in entry:
            calls[entry["call"]][entry["kind"]].append(entry)
    return [Breach(call, promise, seen) for call, kinds in calls.items() for promise, seen in _breaches(kinds, bounds)]


def _breaches(kinds: defaultdict[str, list[Entry]], bounds: Bounds) -> Iterator[tuple[str, str]]:
    hits, terminals = kinds["hit"], kinds["terminal"]
    if len(hits) > 1:
        yield "at most one request", f"{len(hits)} hits"
    if not kinds["accepted"]:
        yield "nothing that nobody asked for", f"{len(hits)} hits, {len(terminals)} ends"
    if not kinds["reply"]:
        yield "every call is answered", "no reply"
    if not terminals:
        yield "every call ends", "no end"
        return
    if len(terminals) > 1:
        yield "an end is written once", ", ".join(one["state"] for one in terminals)
    yield from _untruths(terminals[0], hits)
    late = terminals[0]["at"] - terminals[0]["lease_until"]
    if late > bounds.finalizer + bounds.grace:
        yield "an end comes in time", f"{late:.1f} s after the lease"
    digests = {one["digest"] for one in (*terminals, *kinds["read"])}
    if len(digests) > 1:
        yield "a receipt never changes", f"{len(digests)} digests"


def _untruths(end: Entry, hits: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    if hits and end["sent"] == "not_sent":
        yield "what was sent is told", "not_sent, and a hit"
    if not hits and end["state"] == "completed":
        yield "what was not sent is told", "completed without a hit"
    if end["state"] != "outcome_unknown" and any(hit["at"] > end["at"] for hit in hits):
        yield "nothing is sent after the end", f"a hit after {end['state']}"
