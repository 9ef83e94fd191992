"""Sealed views: arguments, replies and exceptions never reach events, Flower or Celery's own log lines.

Celery shows them in five places: the repr that a producer writes into the headers, the repr in events, the repr of the
return value, retry and failure texts, and the body dumps of messages it cannot read. Each is closed here, on the
receiving side too, because a foreign producer hides nothing.
"""

import logging
from typing import Any

from celery import Celery, Task
from celery.exceptions import InvalidTaskError, TaskPredicate
from celery.worker.consumer import Consumer
from celery.worker.request import Request

from broker import shape
from broker.carrier import UNREADABLE
from broker.logs import where

SEALED = "(sealed)"
_log = logging.getLogger(__name__)


class SealedRequest(Request):
    """A received message whose representation says nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shape.check(self.request_dict, self._payload)  # type: ignore[attr-defined]
        for field in ("argsrepr", "kwargsrepr"):
            self._request_dict[field] = SEALED  # type: ignore[attr-defined]
        self._argsrepr = self._kwargsrepr = SEALED


class TaskBroke(Exception):
    """A task raised: the kind of what it raised. A tool's task never does; ours of care and Celery's own may."""


class SealedTask(Task[Any, Any]):
    """The base of every task: its return value is never shown, only stored for its reader."""

    abstract = True
    Request = "broker.sealing:SealedRequest"
    resultrepr_maxsize = 1  # the length of "{": nothing of the value is shown
    typing = False  # arguments are judged by the tool's closed schema, with a typed refusal

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As Celery's. An exception's text may hold arguments (a TypeError names them). Raises: TaskBroke."""
        try:
            return super().__call__(*args, **kwargs)
        except TaskPredicate:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told by its kind and logged with its place
            kind = type(error).__name__
            _log.error("task_broke", extra={"reason": f"{kind} at {where(error.__traceback__)}"})
            raise TaskBroke(kind) from None


class SealedCelery(Celery):
    """Our producers write no representation of arguments into the message headers."""

    def send_task(self, *args: Any, **options: Any) -> Any:
        """As Celery's, sealed."""
        return super().send_task(*args, **(options | {"argsrepr": SEALED, "kwargsrepr": SEALED}))


class SealedConsumer(Consumer):
    """Messages that cannot be read are rejected, told to their sender and counted by name, never dumped."""

    def create_task_handler(self, *args: Any, **options: Any) -> Any:
        """As Celery's; a message that breaks its reader is rejected instead of ending the worker, and its next one."""
        handle = super().create_task_handler(*args, **options)

        def handle_readable(message: Any) -> Any:
            try:
                return handle(message)
            except UNREADABLE as error:
                self._turn_away(message, type(error).__name__)

        return handle_readable

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """A body that is no task message at all."""
        del body
        self._turn_away(message, "not a task message")

    def on_invalid_task(self, body: Any, message: Any, exc: Any) -> None:
        """A task message whose arguments have no readable shape."""
        del body
        self._turn_away(message, type(exc).__name__)

    def on_decode_error(self, message: Any, exc: Any) -> None:
        """A body in a serialization that is not accepted, or not what it claims to be."""
        self._turn_away(message, type(exc).__name__)

    def _turn_away(self, message: Any, reason: str) -> None:
        """Reject for good. A sender that gave a readable id hears it from the result store instead of waiting."""
        _log.warning("unreadable_message_rejected", extra={"reason": reason})
        if not message.acknowledged:
            message.reject_log_error(_log, self.connection_errors)  # type: ignore[attr-defined]
        headers = message.headers if isinstance(message.headers, dict) else {}
        if shape.is_id(headers.get("id")):
            self.app.backend.mark_as_failure(headers["id"], InvalidTaskError("the message cannot be read"))

    def on_unknown_task(self, body: Any, message: Any, exc: Any) -> None:
        """A task that this fleet does not know: its sender gets NotRegistered from the result store."""
        del body
        super().on_unknown_task(SEALED, _Sealed(message), KeyError(type(exc).__name__))


class _Sealed:
    """A message whose body and argument headers are hidden; everything else is the message's own."""

    body = b""

    def __init__(self, message: Any) -> None:
        self._message = message
        self.headers = {
            name: value for name, value in message.headers.items() if name in {"id", "task", "root_id", "parent_id"}
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)
