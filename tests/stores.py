"""The stores of a running fleet, as processes and by their sockets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg2
from redis import Redis

from tests.fleet import Fleet, wait_until


@contextmanager
def broker_of(fleet: Fleet) -> Iterator[Redis]:
    """A client of the fleet's broker."""
    store = Redis(unix_socket_path=str(fleet.settings.broker_url).removeprefix("redis+socket://"))
    try:
        yield store
    finally:
        store.close()


def unread(fleet: Fleet) -> int:
    """Messages that wait, or are held by a worker."""
    with broker_of(fleet) as store:
        return int(store.hlen("unacked")) + int(store.llen("fetch"))


def rows(fleet: Fleet, statement: str, *values: Any) -> list[Any]:
    """The rows of a statement that a test asks on its own."""
    connection = psycopg2.connect(fleet.settings.database_url)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def store_of(fleet: Fleet, name: str) -> psutil.Process:
    """The process of a store, by its working folder."""
    return wait_until(lambda: _store(fleet, fleet.root / name), seconds=20, what=f"{name} runs")


def _store(fleet: Fleet, folder: Path) -> psutil.Process | None:
    for process in psutil.Process(fleet.process.pid).children():
        try:
            if process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                return process
        except psutil.Error:
            continue
    return None
