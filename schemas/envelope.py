"""The envelope: what a task returns for every business end."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from schemas.errors import OutriderError

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
