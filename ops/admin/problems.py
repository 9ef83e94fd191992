"""Problems: what the API answers when it does not answer data, by one table."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from schemas.envelope import ErrorOut
from schemas.errors import ContextChanged, LedgerUnavailable, ReplayChanged

# By status: the code, what is said, and what to do. A refusal is the same for every project, there or not.
TABLE: Mapping[int, tuple[str, str, str]] = {
    400: ("invalid_arguments", "The request cannot be read.", "Send what the API's document describes."),
    401: (
        "unauthenticated",
        "No valid token came with the request.",
        "Send `Authorization: Bearer TOKEN`; `outrider token create` makes one.",
    ),
    403: (
        "permission_required",
        "The token does not carry this permission for this project.",
        "Ask for a token with the permission and the project.",
    ),
    404: ("not_found", "There is nothing here.", "See the API's document for what there is."),
    405: ("method_not_allowed", "This cannot be done here.", "See the Allow header."),
    409: (
        "review_conflict",
        "This was decided otherwise, or what lies in the ledger is not what was recorded; nothing was written.",
        "`facts` says which; read the review again.",
    ),
    412: (
        "settings_overtaken",
        "Somebody saved the settings since they were read; nothing was saved.",
        "Read them again.",
    ),
    413: ("too_large", "The request is too large.", "A request holds 64 KiB at most."),
    422: ("invalid_arguments", "The request does not fit its schema.", "`facts` names the field and the reason."),
    500: ("internal", "A fault of ours; the server's log names the place.", "Try again, and look at the log."),
    503: ("internal", "The ledger's database does not answer.", "`outrider doctor` says why; nothing is known of it."),
}


class ProblemOut(BaseModel):
    """The envelope of a problem."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error: ErrorOut


class Problem(Exception):
    """The request ends here, with this status. `facts` are plain and public."""

    def __init__(self, status: int, **facts: str | int) -> None:
        super().__init__(status)
        self.status = status
        self.facts = facts


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of these statuses, with those that any request may meet."""
    return {
        status: {"model": ProblemOut, "description": TABLE[status][1]} for status in (*statuses, 401, 403, 422, 503)
    }


def answer(status: int, headers: Mapping[str, str] | None = None, **facts: str | int) -> JSONResponse:
    """The problem as JSON."""
    code, message, hint = TABLE.get(status, TABLE[400 if status < 500 else 500])
    error = ErrorOut(code=code, message=message, retryable=status >= 500, hint=hint, facts=dict(facts))
    sent = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(
        ProblemOut(error=error).model_dump(mode="json"), status_code=status, headers={**sent, **(headers or {})}
    )


def status_of(error: Exception) -> tuple[int, Mapping[str, str], dict[str, str | int]]:
    """What an exception of the application means: status, headers, facts. A value is never told, only its place."""
    match error:
        case Problem():
            return error.status, {}, error.facts
        case RequestValidationError():
            first = error.errors()[0]
            place = ".".join(str(part)[:40] for part in first["loc"] if str(part).isidentifier() or str(part).isdigit())
            return 422, {}, {"field": place, "reason": str(first["type"])}
        case HTTPException():
            return error.status_code, error.headers or {}, {}
        case ReplayChanged() | ContextChanged():
            return 409, {}, {"reason": "altered"}
        case LedgerUnavailable():
            return 503, {}, {}
    return 500, {}, {}


def is_api(request: Request) -> bool:
    """Whether the one who asks is a program."""
    return request.url.path.startswith("/api/")
