"""Extraction in processes of its own: a hostile page costs its child, not the worker.

libxml2 cannot be interrupted from Python, so a page past its time is ended by a signal. The children are started by
spawn, for the worker has threads and libcurl in it, and a fork would copy their locks. A little plain text has nothing
to parse, and is read where it is.
"""

import multiprocessing
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from threading import Lock
from typing import TypeAlias

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from schemas.deadline import Deadline
from schemas.document import Document
from schemas.errors import ExtractionFailed, OutriderError
from schemas.limits import Limits
from workers.extract import mime
from workers.extract.child import extract_one, settle_in
from workers.extract.document import extract
from workers.extract.sniff import sniff

WALL_SECONDS = 10.0  # a page of 2 MB takes under 1 s, the worst hostile one known under 3 s (ops/bench)
MEMORY_BYTES = 1 << 30
PLAIN_BYTES = 16_384  # the worst text of this size takes 1 ms; so does the way to a child and back
_TASKS_PER_CHILD = 500  # lxml's string dictionary and Python's arenas only grow
_LOOK_SECONDS = 0.2  # how often a waiting call looks whether it was taken back
_ATTEMPTS = 2  # a pool that broke under one call is replaced; the page may be innocent

Outcome: TypeAlias = "ProcessFuture[Document | OutriderError]"


class ExtractionPool:
    """Processes that extract. Called from many threads at once; the first call starts them.

    Unit: `memory_bytes` is each child's address space; `wall_seconds` bounds one extraction.
    """

    def __init__(self, workers: int, *, memory_bytes: int = MEMORY_BYTES, wall_seconds: float = WALL_SECONDS) -> None:
        self._workers = workers
        self._memory_bytes = memory_bytes
        self._wall_seconds = wall_seconds
        self._lock = Lock()
        self._pool: ProcessPool | None = None
        self._closed = False

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
        for _ in range(_ATTEMPTS):
            seconds = min(self._wall_seconds, deadline.check("extracting"))
            pool = self._running()
            try:
                future = pool.schedule(extract_one, args=(body, content_type, base_url, limits), timeout=seconds)
                outcome = self._awaited(future, pool, deadline)
            except (BrokenProcessPool, RuntimeError):
                self._replace(pool)
                continue
            if isinstance(outcome, OutriderError):
                raise outcome
            return outcome
        raise ExtractionFailed("The extraction processes could not be kept alive.", cause="pool_broken")

    def close(self) -> None:
        """End the children. A call that is waiting gets ExtractionFailed; later calls too."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        _end(pool)

    def _running(self) -> ProcessPool:
        with self._lock:
            if self._closed:
                raise ExtractionFailed("The extraction processes are closed.", cause="pool_closed")
            if self._pool is None:
                self._pool = ProcessPool(
                    max_workers=self._workers,
                    max_tasks=_TASKS_PER_CHILD,
                    initializer=settle_in,
                    initargs=(self._memory_bytes,),
                    context=multiprocessing.get_context("spawn"),
                )
            return self._pool

    def _replace(self, broken: ProcessPool) -> None:
        """Forget a broken pool, unless another call already did."""
        with self._lock:
            if self._pool is not broken:
                return
            self._pool = None
        _end(broken)

    def _awaited(self, future: Outcome, pool: ProcessPool, deadline: Deadline) -> Document | OutriderError:
        """The child's outcome. An abandoned extraction is ended with its child."""
        try:
            self._wait(future, pool, deadline)
            return future.result()
        except OutriderError:
            raise
        except TimeoutError:
            deadline.check("extracting")
            raise ExtractionFailed("The page took too long to read.", cause="wall_clock") from None
        except ProcessExpired:
            raise ExtractionFailed("The page broke the process that read it.", cause="child_died") from None
        except Exception:  # noqa: BLE001 - the child gives its errors as values: whatever comes here is the pool's own
            raise BrokenProcessPool("the pool was closed or broke") from None
        finally:
            future.cancel()  # type: ignore[no-untyped-call] # pebble says nothing of it

    def _wait(self, future: Outcome, pool: ProcessPool, deadline: Deadline) -> None:
        """Until the outcome is there, looking at the deadline and at the pool meanwhile."""
        while not wait((future,), timeout=min(_LOOK_SECONDS, deadline.left_seconds())).done:
            deadline.check("extracting")
            if self._pool is not pool or not pool.active:  # pebble forgets a call that a breaking pool overtakes
                raise BrokenProcessPool("the pool was closed or broke")


def _end(pool: ProcessPool | None) -> None:
    if pool is not None:
        pool.stop()  # type: ignore[no-untyped-call] # pebble says nothing of it
        pool.join()
