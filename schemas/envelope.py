"""The envelope: what a task returns for every business end."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from schemas.errors import OutcomeUnknown, OutriderError, ReplyNotKept, revive
from schemas.operation import OperationState, Stored

Outcome = Literal["completed", "refused", "failed", "cancelled", "unknown"]


class ErrorOut(BaseModel):
    """A typed error: stable code, plain words, and what to do next."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    message: str
    retryable: bool
    hint: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, error: OutriderError) -> "ErrorOut":
        """The public face of an error."""
        return cls(
            code=error.code, message=error.message, retryable=error.retryable, hint=error.hint, facts=dict(error.facts)
        )


class ReceiptOut(BaseModel):
    """Where the whole account lies, and whether a request left the machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    sent: Literal["not_sent", "sent", "unknown"]
    digest: str


class Envelope(BaseModel):
    """One answer. refused: nothing left the machine; failed: tried, with a known end; unknown: nobody can say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    tool: str
    operation: str | None = None
    replayed: bool = False
    value: dict[str, Any] | None = None
    error: ErrorOut | None = None
    receipt: ReceiptOut | None = None


def replay(tool: str, stored: Stored) -> Envelope:
    """The answer to a repeat of a call that has ended, from its receipt alone: nothing is sent.

    A receipt that keeps the value gives it again; of any other call's text nothing is kept.
    """
    if stored.state is OperationState.COMPLETED and (value := json.loads(stored.body).get("value")) is not None:
        return Envelope(
            outcome="completed",
            tool=tool,
            operation=stored.operation_id,
            replayed=True,
            value=value,
            receipt=receipt_out(stored),
        )
    return Envelope(
        outcome=_REPLAYED[stored.state],
        tool=tool,
        operation=stored.operation_id,
        replayed=True,
        error=ErrorOut.of(_stored_error(stored)),
        receipt=receipt_out(stored),
    )


_REPLAYED: dict[OperationState, Outcome] = {
    OperationState.COMPLETED: "failed",  # the reply is gone: reply_not_kept
    OperationState.REFUSED: "refused",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "cancelled",
    OperationState.OUTCOME_UNKNOWN: "unknown",
}


def _stored_error(stored: Stored) -> OutriderError:
    if stored.state is OperationState.COMPLETED:
        return ReplyNotKept("The call was completed before; its text was given once and is not stored.")
    if stored.state is OperationState.OUTCOME_UNKNOWN:
        return OutcomeUnknown("Whether a request was sent for this call is unknown.")
    error = json.loads(stored.body)["error"]
    return revive(error["code"], error["message"], error["facts"])


def receipt_out(stored: Stored) -> ReceiptOut:
    """The pointer to a stored receipt."""
    return ReceiptOut.model_validate({"id": stored.operation_id, "sent": stored.sent, "digest": stored.digest})
