"""What runs in an extraction process: its bounds, then one body after the other, from a socket and back to it.

The parent's jobs are pickled, for the child trusts its parent. Never the other way round: a page that took its child
over must not be able to run code in the worker, so answers are JSON and are validated.
"""

import gc
import json
import math
import pickle
import resource
import signal
import socket
from ctypes import c_long
from dataclasses import dataclass
from typing import IO

from pydantic import TypeAdapter

from schemas.document import Document
from schemas.errors import OutriderError
from schemas.limits import Limits
from workers.extract.document import extract

READY = b"r"
DOCUMENT, ERROR = b"d", b"e"
LENGTH_BYTES = 8

DOCUMENTS = TypeAdapter(Document)


@dataclass(frozen=True, slots=True)
class Job:
    """One body to extract. Unit: after `seconds` the child ends itself, should its parent no longer be there to."""

    body: bytes
    content_type: str | None
    base_url: str
    limits: Limits
    seconds: float


def serve(line: socket.socket, taken: c_long, memory_bytes: int) -> None:
    """Extract until the parent closes the line; `taken` tells it how many jobs were begun."""
    settle_in(memory_bytes)
    line.sendall(READY)
    with line, line.makefile("rb") as jobs:
        while (job := _next(jobs)) is not None:
            taken.value += 1
            signal.setitimer(signal.ITIMER_REAL, math.ceil(job.seconds) + 1)
            kind, answer = extract_one(job)
            signal.setitimer(signal.ITIMER_REAL, 0)
            line.sendall(kind + len(answer).to_bytes(LENGTH_BYTES, "big") + answer)


def settle_in(memory_bytes: int) -> None:
    """Bound the process's memory, leave no core file with page text in it, and end at once when told to.

    A handler in Python never runs while libxml2 is in a loop: the default actions of SIGTERM and SIGALRM do. Ctrl-C
    reaches the whole group of a terminal: it is the parent's to judge.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.disable()  # the trees hold no cycles and are freed by count; looking for some costs 6 %


def extract_one(job: Job) -> tuple[bytes, bytes]:
    """The answer of one job: its kind and its JSON."""
    try:
        made = extract(job.body, content_type=job.content_type, base_url=job.base_url, limits=job.limits)
    except OutriderError as error:
        return ERROR, json.dumps([error.code, error.message, error.facts]).encode()
    return DOCUMENT, DOCUMENTS.dump_json(made)


def _next(jobs: IO[bytes]) -> Job | None:
    try:
        job: Job = pickle.load(jobs)  # noqa: S301 - from our own parent
    except (EOFError, ConnectionError):
        return None
    return job
