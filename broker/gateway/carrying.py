"""Carrying: a call from its acceptance to its envelope, in a thread of its own that outlives the client's request.

A client that cancels, or hangs up, takes its call back: what nobody began never is, and a running fetch's connection
is destroyed. Either way the waiting thread stays until the fleet has answered, so that the reply is read and forgotten
and the ledger has the end. A gateway that is killed loses the reply alone: the call was accepted before.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic
from typing import Any

import structlog

from broker import intake
from broker.intake import Handle, Progress
from broker.ledger.engine import Ledger
from broker.logs import where
from broker.outbox import AWAY
from schemas.context import Context
from schemas.envelope import Envelope, ErrorOut, Outcome
from schemas.errors import Cancelled, LedgerUnavailable, OutcomeUnknown, OutriderError, ProjectBusy, StackUnavailable

REPLY_SECONDS = 150.0  # a call waits for a busy project (90 s), runs for its deadline, and settles
CALLS = 64  # threads that wait, each for one call
PROJECT_CALLS = 16  # several times what a project may run at once; no project takes all threads
RECALLS = 16
CANCEL_SECONDS = 12.0  # a cancelled call's connection is destroyed within a second; its worker then settles
RECALL_SECONDS = 1.0  # said again and again: a worker that is only connecting does not hear it the first time

_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Carried:
    """One call on its way. `sent` has the handle once it was submitted; `reply` the envelope in the end."""

    tool: str
    arguments: dict[str, Any]
    context: Context
    told: Progress | None = None
    left: Event = field(default_factory=Event)
    sent: "Future[Handle | None]" = field(default_factory=Future)
    reply: "Future[Envelope]" = field(default_factory=Future)


class Calls:
    """The calls of one gateway. Must be closed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._pool = ThreadPoolExecutor(CALLS, thread_name_prefix="call")
        self._recalls = ThreadPoolExecutor(RECALLS, thread_name_prefix="recall")
        self._lock = Lock()
        self._under_way: Counter[str] = Counter()
        self._requests = 0
        self._closing = False

    def begin(self, call: Carried) -> None:
        """Carry the call. Raises: ProjectBusy, StackUnavailable where this gateway is ending."""
        project = call.context.project
        with self._lock:
            if self._closing:
                raise StackUnavailable("This gateway is ending; nothing was sent. Call again.")
            if self._under_way[project] >= PROJECT_CALLS:
                raise ProjectBusy("Too many calls of this project wait at this gateway.", limit=PROJECT_CALLS)
            self._under_way[project] += 1
        call.reply = self._pool.submit(self._carry, call)
        call.reply.add_done_callback(lambda _reply: self._forget(project))

    def take_back(self, call: Carried) -> None:
        """The client waits no longer: let the call end soon. Returns at once."""
        call.left.set()
        with suppress(RuntimeError):  # the gateway ends: the call ends without us
            self._recalls.submit(self._recall, call)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request of a client for as long as it is answered."""
        with self._lock:
            self._requests += 1
        try:
            yield
        finally:
            with self._lock:
                self._requests -= 1

    def stop(self) -> None:
        """Take no new calls."""
        with self._lock:
            self._closing = True

    def idle(self) -> bool:
        """Whether no request is answered and no call awaited."""
        with self._lock:
            return self._requests == 0 and self._under_way.total() == 0

    def close(self) -> None:
        """Forget the calls that no thread has taken yet; the others end by themselves."""
        self.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._recalls.shutdown(wait=False, cancel_futures=True)

    def _forget(self, project: str) -> None:
        with self._lock:
            self._under_way[project] -= 1
            if not self._under_way[project]:
                del self._under_way[project]

    def _carry(self, call: Carried) -> Envelope:
        handle = None
        try:
            handle = self._submit(call)
            call.sent.set_result(handle)
            if handle is None:
                return _ended(call, "cancelled", Cancelled("The call was cancelled before it began."))
            envelope = intake.await_reply(
                handle, timeout_seconds=REPLY_SECONDS, ledger=self._ledger, on_progress=call.told
            )
            return Envelope.model_validate(envelope)
        except Exception as error:  # noqa: BLE001 - the call may be accepted: its end is in the ledger alone
            _log.error("reply_unreadable", exception=type(error).__name__, at=where(error.__traceback__))
            operation = None if handle is None else handle.operation
            return _ended(call, "unknown", OutcomeUnknown("The reply could not be read."), operation)
        finally:
            if not call.sent.done():
                call.sent.set_result(None)

    def _submit(self, call: Carried) -> Handle | None:
        """The handle; None for a call whose client left before."""
        if call.left.is_set():
            return None
        context = call.context.model_dump(exclude_none=True)
        wants_progress = call.told is not None
        return intake.submit(call.tool, call.arguments, context, progress=wants_progress, ledger=self._ledger)

    def _recall(self, call: Carried) -> None:
        until = monotonic() + CANCEL_SECONDS
        try:
            handle = call.sent.result(CANCEL_SECONDS)
        except (TimeoutError, CancelledError):
            return  # it waits for a thread, and looks whether its client is there when it gets one
        while handle is not None and not call.reply.done() and monotonic() < until:
            with suppress(LedgerUnavailable, *AWAY):
                if intake.cancel(handle, self._ledger) is not None:
                    return
            wait([call.reply], timeout=RECALL_SECONDS)


def _ended(call: Carried, outcome: Outcome, error: OutriderError, operation: str | None = None) -> Envelope:
    return Envelope(outcome=outcome, tool=call.tool, operation=operation, error=ErrorOut.of(error))
