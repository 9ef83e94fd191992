"""What the tests of the extraction processes share."""

import multiprocessing
from threading import Event
from time import monotonic

import psutil

from schemas.deadline import Deadline
from schemas.document import Document
from tests.workers.extract.reading import BASE, limits_of
from workers.extract.pool import ExtractionPool

SLOW = b"<body>" + b"<b><p></b>" * 419_000  # 4 MB that the parser rebuilds formatting for: seconds of work
PATIENCE_SECONDS = 60.0


def read_in(
    pool: ExtractionPool, body: bytes, content_type: str = "text/html", deadline: Deadline | None = None
) -> Document:
    return pool.extract(
        body,
        content_type=content_type,
        base_url=BASE,
        limits=limits_of(),
        deadline=deadline or Deadline.after(PATIENCE_SECONDS),
    )


def children() -> list[psutil.Process]:
    """The extraction processes of this process."""
    pids = {child.pid for child in multiprocessing.active_children() if child.name == "outrider-extraction"}
    return [child for child in psutil.Process().children() if child.pid in pids]


def until_one_works(spent: float) -> psutil.Process:
    """The child that has spent more processor time than that."""
    end = monotonic() + PATIENCE_SECONDS
    while monotonic() < end:
        for child in children():
            if child.is_running() and child.cpu_times().user > spent:
                return child
        Event().wait(0.01)
    raise AssertionError("no child began to work")
