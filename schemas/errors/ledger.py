"""The ledger's answers, and our own faults."""

from schemas.errors.tree import Broken, Failed, Refused


class OperationInProgress(Refused):
    """The same call is being carried out right now by another delivery."""

    code = "operation_in_progress"
    retryable = True
    hint = "Wait for the running call's result; calling again sends nothing."


class CallConflict(Refused):
    """The same call id with other arguments."""

    code = "call_conflict"
    hint = "Use a new call id for new arguments."


class NotAdmitted(Refused):
    """The call was accepted, and no worker could admit it within its time."""

    code = "not_admitted_in_time"
    retryable = True
    hint = "The fleet was away or too busy; nothing was sent. `outrider status` shows who answers. Use a new call id."


class RequestUnreadable(Broken):
    """The sealed request does not open: another key sealed it, or it was altered. Nothing was sent."""

    code = "request_unreadable"
    hint = (
        "Give every process of the deployment the same OUTRIDER_SEAL_KEY, older keys after the first one; then use a "
        "new call id."
    )


class ReplyNotKept(Failed):
    """The call is completed, and its text was given once; page text is not stored."""

    code = "reply_not_kept"
    hint = "The call was completed before and its text is not stored. Use a new call id to fetch again."


class OutcomeUnknown(Failed):
    """A request may have been sent, and nobody can say how it ended. It is never sent again."""

    code = "research_outcome_unknown"
    hint = "Whether the request was sent is unknown and it is never repeated. Use a new call id if repeating is safe."


class Cancelled(Failed):
    """The caller took the call back."""

    code = "cancelled"
    hint = "The call was cancelled by its caller."


class Internal(Broken):
    """A fault of ours, said without its innards."""

    code = "internal"


class StackUnavailable(Broken):
    """The stack of this machine did not come up, or cannot be reached. Its own words say what to do."""

    code = "internal"
    hint = "`outrider doctor` says what is wrong with this machine."


class LedgerUnavailable(Broken):
    """PostgreSQL stayed away for longer than we wait."""

    code = "internal"
    retryable = True
    hint = "The ledger's database did not answer. `outrider doctor` says why; nothing was sent for this call."
