"""Carrying one call to the fleet and its envelope back, whatever is interrupted on the way."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from broker import intake
from broker import settings as configuration
from broker.app import app
from broker.intake import Handle
from broker.ledger.engine import Ledger, ledger_engine
from broker.ledger.receipts import read_receipt
from ops.cli.progress import Progress
from ops.stack.faults import StackError, StartInterrupted
from ops.stack.interrupts import Interrupts
from ops.stack.sharing import Serving, embedded_stack
from schemas.envelope import Envelope, ErrorOut
from schemas.errors import Cancelled, LedgerUnavailable, OutcomeUnknown, OutriderError, StackUnavailable

# A call waits for a free worker, runs for its profile's deadline, and settles.
REPLY_SECONDS = 150.0
# A cancelled call's connection is destroyed within a second; its worker then settles.
CANCEL_SECONDS = 12.0
_TICK_SECONDS = 0.2
_RECALL_SECONDS = 1.0
_PING_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as the command line makes it."""

    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The envelope, and the receipt's own bytes where it has one."""

    envelope: dict[str, Any]
    interrupted: bool = False
    receipt: str | None = None


def own_context() -> dict[str, Any]:
    """The context of a command: project `local`, agent `cli`, a run of its own."""
    return {"project": "local", "agent": "cli", "run": f"cli-{uuid4().hex[:16]}", "step": "cli"}


def carry(call: Call, progress: Progress, show: Callable[[Answer], None]) -> Answer:
    """The answer to the call, shown before the stack that was started for it is drained. An interrupt cancels it."""
    with Interrupts() as interrupts:
        try:
            _insist_on_patience(interrupts)
            with embedded_stack(
                configuration.settings(),
                say=progress.say,
                begun=lambda: progress.tell("starting"),
                asked=interrupts.asked,
                hurry=interrupts.hurry,
            ) as serving:
                if not serving.own:
                    progress.tell("joined")
                configuration.install(serving.settings)
                answer = _carry(call, serving, interrupts, progress)
                progress.close()
                show(answer)
            answer = replace(answer, interrupted=interrupts.asked())
        except StartInterrupted:
            answer = _own(call, "cancelled", Cancelled("The call was cancelled before it was sent."))
        except StackError as error:
            answer = _own(call, "failed", StackUnavailable(error.what), error.todo)
        else:
            return answer
    progress.close()
    show(answer)
    return answer


def _carry(call: Call, serving: Serving, interrupts: Interrupts, progress: Progress) -> Answer:
    ledger = ledger_engine(serving.settings.require_database_url(), size=2)
    try:
        _wait_for_worker(serving, interrupts)
        _insist_on_patience(interrupts)
        handle = intake.submit(call.tool, call.arguments, call.context, progress=True, ledger=ledger)
        progress.tell("queued")
        waiting = _Waiting(handle, ledger, progress)
        envelope = _watch(waiting, serving, interrupts, progress)
        return Answer(envelope, interrupted=interrupts.asked(), receipt=_receipt(ledger, envelope))
    except (OperationalError, RedisError):
        return _own(call, "failed", StackUnavailable("The broker or the result store could not be reached."))
    finally:
        ledger.dispose()


def _wait_for_worker(serving: Serving, interrupts: Interrupts) -> None:
    """Send to a worker of our own only when it listens: one that is starting cannot hear that a call is taken back.

    Raises: StartInterrupted, StackError when it does not stay up.
    """
    while serving.own and not app.control.ping(timeout=_PING_SECONDS, limit=1):
        _insist_on_patience(interrupts)
        if trouble := serving.trouble():
            raise StackError(trouble)


def _insist_on_patience(interrupts: Interrupts) -> None:
    """Go on only where nobody asked to end. Raises: StartInterrupted."""
    if interrupts.asked():
        raise StartInterrupted


class _Waiting:
    """A thread that waits for the reply, so that the main one stays free for the person at the terminal."""

    def __init__(self, handle: Handle, ledger: Ledger, progress: Progress) -> None:
        self.handle = handle
        self._ledger = ledger
        self._progress = progress
        self._replies: SimpleQueue[dict[str, Any]] = SimpleQueue()
        threading.Thread(target=self._wait, name="reply", daemon=True).start()

    def reply(self, seconds: float) -> dict[str, Any] | None:
        """The envelope, waiting this long for it."""
        with suppress(Empty):
            return self._replies.get(timeout=seconds)
        return None

    def cancel(self) -> dict[str, Any] | None:
        """Take the call back; the envelope of one that nobody had begun."""
        try:
            return intake.cancel(self.handle, self._ledger)
        except LedgerUnavailable:
            return None

    def _wait(self) -> None:
        tell = self._progress.tell
        try:
            envelope = intake.await_reply(
                self.handle, timeout_seconds=REPLY_SECONDS, ledger=self._ledger, on_progress=tell
            )
        except Exception as error:  # noqa: BLE001 - whatever it was, the person who waits must hear
            fault = StackUnavailable("The reply could not be read.", kind=type(error).__name__)
            envelope = _envelope(self.handle.tool, "failed", fault)
        self._replies.put(envelope)


def _watch(waiting: _Waiting, serving: Serving, interrupts: Interrupts, progress: Progress) -> dict[str, Any]:
    """The envelope; one of our own where the fleet does not stay up, or a cancelled call is not answered."""
    give_up_at = None
    while (envelope := waiting.reply(_TICK_SECONDS if give_up_at is None else _RECALL_SECONDS)) is None:
        if interrupts.asked():
            give_up_at = give_up_at or time.monotonic() + CANCEL_SECONDS
            progress.tell("cancelling")
            # Said again and again: a worker that is only connecting does not hear it the first time.
            if (taken := waiting.cancel()) is not None:
                return taken
            if interrupts.hurry() or time.monotonic() > give_up_at:
                return _envelope(waiting.handle.tool, "unknown", OutcomeUnknown("Interrupted before an answer came."))
        if trouble := serving.trouble():
            return _envelope(waiting.handle.tool, "unknown", OutcomeUnknown(f"No answer can come: {trouble}."))
    return envelope


def _receipt(ledger: Ledger, envelope: dict[str, Any]) -> str | None:
    if envelope["receipt"] is None:
        return None
    stored = read_receipt(ledger, envelope["receipt"]["id"])
    return None if stored is None else stored.body


def _own(call: Call, outcome: str, error: OutriderError, todo: str | None = None) -> Answer:
    return Answer(_envelope(call.tool, outcome, error, todo), interrupted=outcome == "cancelled")


def _envelope(tool: str, outcome: str, error: OutriderError, todo: str | None = None) -> dict[str, Any]:
    told = ErrorOut.of(error).model_copy(update={} if todo is None else {"hint": todo})
    return Envelope.model_validate({"outcome": outcome, "tool": tool, "error": told}).model_dump(mode="json")
