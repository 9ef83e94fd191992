"""One extraction process, as its parent holds it: a job goes in, a value or an error comes back, or it is killed."""

import multiprocessing
import pickle
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TypeVar
from weakref import finalize

from pydantic import TypeAdapter, ValidationError

from schemas.errors import (
    EmptySource,
    ExtractionFailed,
    Fact,
    OutriderError,
    SourceBlocked,
    SourceChanged,
    SourceUnavailable,
    UnsupportedContentType,
    revive,
)
from workers.extract.child import ERROR, LENGTH_BYTES, READY, VALUE, Job, answers_of, serve

START_SECONDS = (
    30.0  # an interpreter and its imports take half a second; on a machine that is starting, many times that
)
ANSWER_BYTES = 16_000_000  # of a child that was not taken over: 400,000 characters, escaped, take 2.4 MB
_CHUNK_BYTES = 1 << 18
_LOOK_SECONDS = 0.2  # how often a waiting call looks whether it was taken back
T = TypeVar("T")
_ERRORS = TypeAdapter(tuple[str, str, dict[str, Fact]])
# The errors that reading a body may end with: of a page, and of a search provider's answer.
_ENDS = (EmptySource, ExtractionFailed, UnsupportedContentType, SourceBlocked, SourceChanged, SourceUnavailable)
_book = Lock()  # multiprocessing keeps its children in one unlocked set, and reaps whatever it finds there


class ProcessDied(Exception):
    """The process ended, or answered what no extraction answers. `at_work`: after it had taken the job."""

    def __init__(self, *, at_work: bool) -> None:
        super().__init__("the extraction process ended")
        self.at_work = at_work


class Process:
    """A child that does one job at a time. Not for two threads at once, but for `end`.

    Started by spawn: the worker has threads and libcurl in it, and a fork would copy their locks.
    """

    def __init__(self, memory_bytes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, other = socket.socketpair()
        self._close = finalize(self, self._line.close)  # also at the interpreter's end
        self._ready = False
        self._taken = context.RawValue("q", 0)  # the child's count of jobs, to be read when it has died
        self.jobs = 0
        with other:
            self._process = context.Process(
                target=serve, args=(other, self._taken, memory_bytes), name="outrider-extraction", daemon=True
            )
            with _book:
                self._process.start()

    def ask(self, job: Job[T], check: Callable[[], object]) -> T | OutriderError:
        """What became of the job. `check` is called while it waits, and whatever it raises is raised.

        After any raise the process is spent: it may still be at work. Raises: ProcessDied, TimeoutError.
        """
        self._await_ready(check)
        self.jobs += 1
        until = monotonic() + job.seconds
        try:
            return self._answer(job, until, check)
        except (ConnectionError, EOFError, ValidationError):
            raise ProcessDied(at_work=self._taken.value == self.jobs) from None

    def end(self) -> None:
        """Kill it: whoever waits for it gets ProcessDied."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        with _book:
            self._process.kill()
            self._process.join()

    def release(self) -> None:
        """Give its line back, once it has ended and nobody waits for it."""
        self._close()

    def _await_ready(self, check: Callable[[], object]) -> None:
        if self._ready:
            return
        until = monotonic() + START_SECONDS
        try:
            self._wait(until, check)
            self._ready = self._line.recv(1) == READY
        except (OSError, TimeoutError):
            raise ProcessDied(at_work=False) from None
        if not self._ready:
            raise ProcessDied(at_work=False)

    def _answer(self, job: Job[T], until: float, check: Callable[[], object]) -> T | OutriderError:
        self._line.settimeout(job.seconds)
        self._line.sendall(pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL))
        self._wait(until, check)
        head = self._read(1 + LENGTH_BYTES, until)
        kind, length = head[:1], int.from_bytes(head[1:], "big")
        if length > ANSWER_BYTES or kind not in {VALUE, ERROR}:
            raise ProcessDied(at_work=True)
        answer = self._read(length, until)
        return answers_of(job.work).validate_json(answer, strict=True) if kind == VALUE else _error(answer)

    def _wait(self, until: float, check: Callable[[], object]) -> None:
        """Until something can be read. Raises: TimeoutError, whatever `check` raises."""
        poller = select.poll()
        poller.register(self._line, select.POLLIN)
        while not poller.poll(1000 * max(0.0, min(_LOOK_SECONDS, until - monotonic()))):
            check()
            if monotonic() >= until:
                raise TimeoutError

    def _read(self, size: int, until: float) -> bytes:
        read = bytearray()
        while len(read) < size:
            self._line.settimeout(max(0.001, until - monotonic()))
            chunk = self._line.recv(min(size - len(read), _CHUNK_BYTES))
            if not chunk:
                raise EOFError
            read += chunk
        return bytes(read)


def _error(answer: bytes) -> OutriderError:
    """The error that the child tells of. Raises: ProcessDied for one that no extraction has."""
    error = revive(*_ERRORS.validate_json(answer))
    if not isinstance(error, _ENDS):
        raise ProcessDied(at_work=True)
    return error
