"""The error tree: every coded end of a tool call, one leaf a code. `tree` says what they have in common."""

from functools import cache

from schemas.errors.asked import (
    AgentNotPermitted,
    CapabilityDisabled,
    CapabilityForbidden,
    Cooldown,
    CredentialsInUrl,
    InvalidArguments,
    InvalidUrl,
    ProjectBusy,
    RunQuotaExhausted,
    SecretInUrl,
    SettingsChanged,
    StepQuotaExhausted,
    UnsupportedPort,
    UnsupportedScheme,
)
from schemas.errors.content import ChangedContent, EmptySource, ExtractionFailed
from schemas.errors.ledger import (
    CallConflict,
    Cancelled,
    Internal,
    LedgerUnavailable,
    NotAdmitted,
    OperationInProgress,
    OutcomeUnknown,
    ReplyNotKept,
    RequestUnreadable,
    StackUnavailable,
)
from schemas.errors.network import (
    AddressRefused,
    Dns64Network,
    DnsFailure,
    FakeIpDns,
    HeadersTooLarge,
    HttpError,
    NetworkError,
    RateLimited,
    RedirectBlocked,
    RedirectLimit,
    RedirectLoop,
    RequestTimeout,
    ResponseTooLarge,
    SourceUnavailable,
    TlsError,
    TruncatedBody,
    UnsupportedContentEncoding,
    UnsupportedContentType,
)
from schemas.errors.search import QueryTooLong, SourceBlocked, SourceChanged
from schemas.errors.tree import Broken, Fact, Failed, OutriderError, Refused
from schemas.errors.truth import (
    ContextChanged,
    ContextTooLarge,
    CostCeilingReached,
    CostControlUnavailable,
    ExecutionDeadlineExceeded,
    FetchLimitReached,
    HitNotAdmitted,
    InvalidOutput,
    OutputConflict,
    PassageTooLarge,
    ReplayChanged,
    RunNotFound,
    RunNotLaunched,
    RunTerminal,
    SearchLimitReached,
    SessionForbidden,
)

__all__ = [
    "AddressRefused",
    "AgentNotPermitted",
    "Broken",
    "CallConflict",
    "Cancelled",
    "CapabilityDisabled",
    "CapabilityForbidden",
    "ChangedContent",
    "ContextChanged",
    "ContextTooLarge",
    "Cooldown",
    "CostCeilingReached",
    "CostControlUnavailable",
    "CredentialsInUrl",
    "Dns64Network",
    "DnsFailure",
    "EmptySource",
    "ExecutionDeadlineExceeded",
    "ExtractionFailed",
    "Fact",
    "Failed",
    "FakeIpDns",
    "FetchLimitReached",
    "HeadersTooLarge",
    "HitNotAdmitted",
    "HttpError",
    "Internal",
    "InvalidArguments",
    "InvalidOutput",
    "InvalidUrl",
    "LedgerUnavailable",
    "NetworkError",
    "NotAdmitted",
    "OperationInProgress",
    "OutcomeUnknown",
    "OutputConflict",
    "OutriderError",
    "PassageTooLarge",
    "ProjectBusy",
    "QueryTooLong",
    "RateLimited",
    "RedirectBlocked",
    "RedirectLimit",
    "RedirectLoop",
    "Refused",
    "ReplayChanged",
    "ReplyNotKept",
    "RequestTimeout",
    "RequestUnreadable",
    "ResponseTooLarge",
    "RunNotFound",
    "RunNotLaunched",
    "RunQuotaExhausted",
    "RunTerminal",
    "SearchLimitReached",
    "SecretInUrl",
    "SessionForbidden",
    "SettingsChanged",
    "SourceBlocked",
    "SourceChanged",
    "SourceUnavailable",
    "StackUnavailable",
    "StepQuotaExhausted",
    "TlsError",
    "TruncatedBody",
    "UnsupportedContentEncoding",
    "UnsupportedContentType",
    "UnsupportedPort",
    "UnsupportedScheme",
    "revive",
]


def revive(code: str, message: str, facts: dict[str, Fact]) -> OutriderError:
    """The error that a stored receipt tells of. An unknown code (from a newer writer) becomes Internal."""
    return _by_code().get(code, Internal)(message, **facts)


@cache
def _by_code() -> dict[str, type[OutriderError]]:
    """The kind that owns each code: of a parent and a child with one code, the parent."""
    found: dict[str, type[OutriderError]] = {Internal.code: Internal}
    level: list[type[OutriderError]] = [OutriderError]
    while level:
        for kind in level:
            found.setdefault(kind.code, kind)
        level = [child for kind in level for child in kind.__subclasses__()]
    return found
