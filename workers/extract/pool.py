"""Extraction in processes of its own: a hostile page costs its child, not the worker.

libxml2 cannot be interrupted from Python, so a page past its time is ended by a signal. A little plain text has nothing
to parse, and is read where it is.
"""

from collections.abc import Callable
from functools import partial
from queue import Empty, LifoQueue
from threading import Lock
from typing import Any, TypeVar

from schemas.deadline import Deadline
from schemas.document import Document
from schemas.errors import ExtractionFailed, OutriderError
from schemas.limits import Limits
from workers.extract import mime
from workers.extract.child import Job, extract_one
from workers.extract.document import extract
from workers.extract.process import Process, ProcessDied
from workers.extract.sniff import sniff

WALL_SECONDS = 10.0  # a page of 2 MB takes under 1 s, the worst hostile one known under 3 s (ops/bench)
MEMORY_BYTES = 1 << 30
PLAIN_BYTES = 16_384  # the worst text of this size takes 1 ms; so does the way to a child and back
_JOBS_PER_CHILD = 500  # lxml's string dictionary and Python's arenas only grow
_LOOK_SECONDS = 0.2  # how often a waiting call looks whether it was taken back
_ATTEMPTS = 2  # a child that died before it had the page is replaced; the page is innocent

T = TypeVar("T")


class ExtractionPool:
    """Processes that extract. Called from many threads at once; the first call, or `warm`, starts them.

    Unit: `memory_bytes` is each child's address space; `wall_seconds` bounds one extraction.
    """

    def __init__(self, workers: int, *, memory_bytes: int = MEMORY_BYTES, wall_seconds: float = WALL_SECONDS) -> None:
        self._workers = workers
        self._memory_bytes = memory_bytes
        self._wall_seconds = wall_seconds
        self._lock = Lock()
        self._all: set[Process] = set()
        self._idle: LifoQueue[Process] = LifoQueue()  # the last one back is the warmest
        self._closed = False

    def warm(self) -> None:
        """Start the children now, so that the first page does not wait for them."""
        with self._lock:
            while not self._closed and len(self._all) < self._workers:
                self._start()

    def extract(
        self, body: bytes, *, content_type: str | None, base_url: str, limits: Limits, deadline: Deadline
    ) -> Document:
        """What `document.extract` makes of the body, in a child unless it is a little plain text.

        Raises: what `document.extract` raises; ExtractionFailed also for a child that outgrew its time or its memory
        or died; RequestTimeout and Cancelled when the call's own deadline says so.
        """
        if len(body) <= PLAIN_BYTES and sniff(body, mime.parse(content_type)) == "text":
            deadline.check("extracting")
            return extract(body, content_type=content_type, base_url=base_url, limits=limits)
        return self.run(extract_one, (body, content_type, base_url, limits), deadline)

    def run(self, work: Callable[..., T], arguments: tuple[Any, ...], deadline: Deadline) -> T:
        """What a module's function makes of the arguments, in a child. Its return annotation says what may come back.

        Raises: the function's own Failed; ExtractionFailed for whatever else it raised, and for a child that outgrew
        its time or memory or died; RequestTimeout and Cancelled when the call's own deadline says so.
        """
        for _ in range(_ATTEMPTS):
            child = self._take(deadline)
            seconds = min(self._wall_seconds, deadline.check("extracting"))
            try:
                outcome = self._asked(child, Job(work, arguments, seconds), deadline)
            except ProcessDied as death:
                if death.at_work:
                    raise ExtractionFailed("The page broke the process that read it.", cause="child_died") from None
                continue
            if isinstance(outcome, OutriderError):
                raise outcome
            return outcome
        raise ExtractionFailed("The extraction processes could not be kept alive.", cause="pool_broken")

    def close(self) -> None:
        """End the children. A call that is waiting gets ExtractionFailed; later calls too."""
        with self._lock:
            self._closed = True
            ended, self._all = self._all, set()
            idle = [self._idle.get_nowait() for _ in range(self._idle.qsize())]
        for child in ended:
            child.end()
        for child in idle:  # the others are let go by those who wait for them
            child.release()

    def _take(self, deadline: Deadline) -> Process:
        """A child that nobody else has. Raises: ExtractionFailed, RequestTimeout, Cancelled."""
        while True:
            deadline.check("extracting")
            if self._closed:
                raise ExtractionFailed("The extraction processes are closed.", cause="pool_closed")
            self.warm()
            try:
                return self._idle.get(timeout=min(_LOOK_SECONDS, deadline.left_seconds()))
            except Empty:
                continue

    def _asked(self, child: Process, job: Job[T], deadline: Deadline) -> T | OutriderError:
        """The child's outcome; a child that is spent is replaced.

        Raises: ProcessDied, ExtractionFailed, RequestTimeout, Cancelled.
        """
        try:
            outcome = child.ask(job, partial(deadline.check, "extracting"))
        except TimeoutError:
            self._replace(child)
            deadline.check("extracting")
            raise ExtractionFailed("The page took too long to read.", cause="wall_clock") from None
        except BaseException:
            self._replace(child)
            raise
        self._give_back(child)
        return outcome

    def _give_back(self, child: Process) -> None:
        with self._lock:
            if not self._closed and child.jobs < _JOBS_PER_CHILD:
                self._idle.put(child)
                return
        self._replace(child)

    def _start(self) -> None:
        child = Process(self._memory_bytes)
        self._all.add(child)
        self._idle.put(child)

    def _replace(self, spent: Process) -> None:
        with self._lock:
            ended = spent not in self._all  # the pool was closed meanwhile
            self._all.discard(spent)
            if not self._closed:
                self._start()
        if not ended:
            spent.end()
        spent.release()
