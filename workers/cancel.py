"""Cancellations: the word of a caller who took a call back, spread to every worker by remote control.

Celery's own `revoke` is not used: in 5.7 a worker that does not hold the task writes REVOKED into the result store at
once, so that the caller of a running call hears "cancelled before it began" of a request that was sent.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

from celery.worker import state
from celery.worker.control import control_command

_running: dict[str, Event] = {}
_lock = Lock()


@contextmanager
def cancellable(task_id: str) -> Iterator[Event]:
    """An event that is set when this task's caller takes it back, or has done so, for as long as the task runs."""
    event = Event()
    with _lock:
        _running[task_id] = event
        if task_id in state.revoked:  # the word came between the message and its admission
            event.set()
    try:
        yield event
    finally:
        with _lock:
            if _running.get(task_id) is event:
                del _running[task_id]


@control_command(args=[("task_id", str)], signature="<task_id>")  # type: ignore[untyped-decorator,unused-ignore]
def cancel_call(_state: Any, task_id: str) -> dict[str, bool]:
    """Take a call back: a running one's connection is destroyed within a second, a waiting one's message is dropped."""
    with _lock:
        state.revoked.add(task_id)
        event = _running.get(task_id)
    if event is not None:
        event.set()
    return {"ok": event is not None}
