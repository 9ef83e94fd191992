"""What runs in an extraction process: its bounds, then one job after the other, from a socket and back to it.

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
from collections.abc import Callable
from ctypes import c_long
from dataclasses import dataclass
from functools import cache
from typing import IO, Any, Generic, TypeVar, get_type_hints

from pydantic import TypeAdapter

from schemas.document import Document
from schemas.errors import ExtractionFailed, OutriderError
from schemas.limits import Limits
from workers.extract.document import extract

READY = b"r"
VALUE, ERROR = b"v", b"e"
LENGTH_BYTES = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """A module's function and what it is called with. Unit: a child with no parent left ends itself after `seconds`."""

    work: Callable[..., T]
    arguments: tuple[Any, ...]
    seconds: float


@cache
def answers_of(work: Callable[..., T]) -> TypeAdapter[T]:
    """How the answers of a function travel: as JSON of the type that it says it returns."""
    return TypeAdapter(get_type_hints(work)["return"])


def serve(line: socket.socket, taken: c_long, memory_bytes: int) -> None:
    """Work until the parent closes the line; `taken` tells it how many jobs were begun."""
    settle_in(memory_bytes)
    line.sendall(READY)
    with line, line.makefile("rb") as jobs:
        while (job := _next(jobs)) is not None:
            taken.value += 1
            signal.setitimer(signal.ITIMER_REAL, math.ceil(job.seconds) + 1)
            kind, answer = outcome_of(job)
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


def extract_one(body: bytes, content_type: str | None, base_url: str, limits: Limits) -> Document:
    """The document of one body. Raises: what `document.extract` raises."""
    return extract(body, content_type=content_type, base_url=base_url, limits=limits)


def outcome_of(job: Job[Any]) -> tuple[bytes, bytes]:
    """The answer of one job: its kind and its JSON. What a foreign exception says may hold page text: it stays here."""
    try:
        return VALUE, answers_of(job.work).dump_json(job.work(*job.arguments))
    except OutriderError as error:
        told = error
    except Exception as error:  # noqa: BLE001 - whatever a page breaks, the child must answer
        told = ExtractionFailed("The page could not be read.", cause=type(error).__name__)
    return ERROR, json.dumps([told.code, told.message, told.facts]).encode()


def _next(jobs: IO[bytes]) -> Job[Any] | None:
    try:
        job: Job[Any] = pickle.load(jobs)  # noqa: S301 - from our own parent
    except (EOFError, ConnectionError):
        return None
    return job
