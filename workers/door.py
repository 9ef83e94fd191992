"""The door of a worker process: open until somebody asks it to leave, or until a thread of it is stuck.

Behind a closed door nothing is admitted any more. What was admitted before is finished; every other message is given
back to the broker, for another worker. The event loop goes on meanwhile: acknowledgements are sent, remote control is
answered, and the BRPOP that is under way is read to its end instead of dying with the message it has popped.
"""

import logging
import os
from queue import Empty, SimpleQueue
from typing import Any, Literal

from celery.exceptions import Reject
from celery.worker import state
from celery.worker.control import control_command, inspect_command
from kombu.common import ignore_errors

from broker import events

Why = Literal["asked", "stuck"]

_log = logging.getLogger(__name__)
_closed: list[Why] = []
_closing: SimpleQueue[None] = SimpleQueue()  # its put may interrupt itself: a signal's handler closes the door


def close(why: Why) -> None:
    """Admit nothing from now on; the first reason stays."""
    if not _closed:
        _closed.append(why)
    _closing.put(None)


def why_closed() -> Why | None:
    """Why it is closed; None while it is open."""
    return _closed[0] if _closed else None


def wait(seconds: float) -> None:
    """Return after so long, or as soon as somebody closes the door (again)."""
    try:
        _closing.get(timeout=seconds)
    except Empty:
        return


def pass_through() -> None:
    """For a call that has come to its turn. Raises: celery's Reject, which gives its message back, when closed."""
    if _closed:
        raise Reject("this worker is leaving", requeue=True)


def standing() -> dict[str, Any]:
    """What this process says of itself. Shape: `running` counts what was begun, `pid` tells it from its successor."""
    return {"ready": not _closed, "why": why_closed(), "running": len(state.reserved_requests), "pid": os.getpid()}


@inspect_command(name="standing")  # type: ignore[untyped-decorator,unused-ignore]
def tell_standing(_state: Any, **_more: Any) -> dict[str, Any]:
    """Whether this worker takes calls, and how many it has."""
    return standing()


@control_command(name="drain")  # type: ignore[untyped-decorator,unused-ignore]
@control_command(name="shutdown")  # type: ignore[untyped-decorator,unused-ignore]
def drain(_state: Any, **_more: Any) -> dict[str, Any]:
    """Take nothing new, finish what was begun, and end. Celery's own word for it means the same here."""
    close("asked")
    return standing()


class Consumer(events.Consumer):
    """A consumer that knows the door."""

    task_consumer: Any  # Celery's, as the two below
    connection: Any
    timer: Any
    connection_errors: Any
    leave_at_once: Any = None  # what ends the process after the connection was given up, when there is a hurry

    def create_task_handler(self, *args: Any, **options: Any) -> Any:
        """As before; behind a closed door a message is given back."""
        handle = super().create_task_handler(*args, **options)

        def handle_if_open(message: Any) -> Any:
            if not _closed:
                return handle(message)
            self.stop_taking()  # first: what is given back must not come here again
            return message.reject_log_error(_log, self.connection_errors, requeue=True)

        return handle_if_open

    def on_ready(self) -> None:
        """As Celery's, after each connection: one that is new must not take what the old one would not."""
        super().on_ready()
        if _closed:
            self.stop_taking()

    def stop_taking(self) -> None:
        """Take no more messages, and give back those that have not come to their turn. In the loop's thread alone."""
        if self.task_consumer:
            ignore_errors(self.connection, self.task_consumer.cancel)
        for request in tuple(state.scheduled_requests):  # type: ignore[attr-defined,unused-ignore]
            self.timer.cancel(request._eta_timer_entry)  # noqa: SLF001 - Celery gives no other way to it
            _give_back(request)
        # In the pool's own queue, from which nothing can be taken: a thread that comes to one finds the door closed.
        for request in tuple(state.reserved_requests):
            if request not in state.active_requests:
                _give_back(request)

    def shutdown(self) -> None:
        """As Celery's: closing the channel gives back what is not acknowledged."""
        super().shutdown()
        if self.leave_at_once is not None:
            self.leave_at_once()


def _give_back(request: Any) -> None:
    state.task_ready(request)
    request.reject(requeue=True)
