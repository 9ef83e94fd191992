"""Cancellations: the word of a caller who took a running call back, spread to every worker by remote control."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

from celery.worker.control import control_command

_running: dict[str, Event] = {}
_lock = Lock()


@contextmanager
def cancellable(task_id: str) -> Iterator[Event]:
    """An event that is set when this task's caller takes it back, for as long as the task runs."""
    event = Event()
    with _lock:
        _running[task_id] = event
    try:
        yield event
    finally:
        with _lock:
            if _running.get(task_id) is event:
                del _running[task_id]


@control_command(args=[("task_id", str)], signature="<task_id>")  # type: ignore[untyped-decorator,unused-ignore]
def cancel_call(_state: Any, task_id: str) -> dict[str, bool]:
    """Take a running call back: its connection is destroyed within a second."""
    with _lock:
        event = _running.get(task_id)
    if event is not None:
        event.set()
    return {"ok": event is not None}
