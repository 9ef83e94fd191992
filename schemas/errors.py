"""The error tree: Refused (we would not), Failed (it could not), Broken (our fault).

Each leaf owns one stable code of the contract. A message never carries a query string, a body, a header value or an
internal address; `facts` are plain and public. Retired codes stay reserved.
"""

from functools import cache
from typing import Any, ClassVar

Fact = str | int | float | bool | None


class OutriderError(Exception):
    """The root: a coded end of a tool call. Pickles, so that pools and tests can carry it."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    hint: ClassVar[str] = "This is a fault of ours: see the worker's log for the operation id."

    def __init__(self, message: str, **facts: Fact) -> None:
        super().__init__(message)
        self.message = message
        self.facts: dict[str, Fact] = facts

    def __reduce__(self) -> tuple[Any, ...]:
        return (_revive, (type(self), self.message, self.facts))


def _revive(kind: type[OutriderError], message: str, facts: dict[str, Fact]) -> OutriderError:
    return kind(message, **facts)


class Refused(OutriderError):
    """We would not: a rule of ours said no."""


class Failed(OutriderError):
    """It could not: the world did not give what was asked."""


class Broken(OutriderError):
    """Our fault: a bug, or infrastructure that is lost."""


# --- arguments ---------------------------------------------------------------------------------------------------


class InvalidArguments(Refused):
    """The arguments or the context do not fit their closed schema."""

    code = "invalid_arguments"
    hint = "Correct the named field and call again."


class InvalidUrl(Refused):
    """The URL does not parse, or two parsers read it differently."""

    code = "invalid_url"
    hint = "Give an absolute http or https URL of a public site."


class UnsupportedScheme(Refused):
    """Neither http nor https."""

    code = "unsupported_scheme"
    hint = "Only http and https are fetched."


class UnsupportedPort(Refused):
    """A port other than the scheme's own, where the profile allows only that."""

    code = "unsupported_port"
    hint = "Use the scheme's own port: 80 for http, 443 for https."


class CredentialsInUrl(Refused):
    """A user name or password in the URL."""

    code = "credentials_in_url"
    hint = "Remove user and password from the URL; no credentials are ever sent."


class SecretInUrl(Refused):
    """A query parameter with the name of a secret or a signature."""

    code = "secret_in_url"
    hint = "Use the page's public address: signed and secret-bearing links are not fetched."


# --- permission ---------------------------------------------------------------------------------------------------


class CapabilityDisabled(Refused):
    """The project does not have this capability switched on."""

    code = "capability_disabled"
    hint = "An administrator can enable it in the project's Web search & fetch settings."


class AgentNotPermitted(Refused):
    """The project does not permit this agent."""

    code = "agent_not_permitted"
    hint = "An administrator can permit this agent in the project's Web search & fetch settings."


class SettingsChanged(Refused):
    """The project's settings were saved while the call was under way: its result is withheld."""

    code = "settings_changed"
    retryable = True
    hint = "The project's settings changed during the call. Call again; the new settings apply."


# --- budget -------------------------------------------------------------------------------------------------------


class StepQuotaExhausted(Refused):
    """The step has used all its reservations."""

    code = "step_quota_exhausted"
    hint = "Work with what this step already fetched."


class RunQuotaExhausted(Refused):
    """The run has used all its reservations."""

    code = "run_quota_exhausted"
    hint = "Work with what this run already fetched."


class ProjectBusy(Refused):
    """All of the project's concurrent requests are in use."""

    code = "project_busy"
    retryable = True
    hint = "Wait for a running request of this project to end, then call again."


class Cooldown(Refused):
    """Too soon after the project's previous start."""

    code = "cooldown"
    retryable = True
    hint = "Wait the given time, then call again."


# --- network ------------------------------------------------------------------------------------------------------


class AddressRefused(Refused):
    """The destination, or one of its addresses, is not on the public internet."""

    code = "blocked_address"
    hint = (
        "Only public internet destinations are fetched. `outrider doctor` explains a network that refuses everything."
    )


class FakeIpDns(AddressRefused):
    """This machine's DNS hands out stand-in addresses (198.18.0.0/15), as proxies in fake-IP mode do (X14)."""

    hint = (
        "This machine's DNS gives stand-in addresses (fake-IP mode of a proxy or VPN), so that no site can be judged. "
        "Set the proxy to real-IP mode, or point OUTRIDER_NAMESERVERS at a resolver that gives real addresses; "
        "`outrider doctor` checks it."
    )


class Dns64Network(AddressRefused):
    """This machine's DNS makes NAT64 addresses for IPv4 sites (DNS64), and those are refused (X14)."""

    hint = (
        "This machine's network reaches IPv4 sites through NAT64, and its DNS64 answers are refused. Point "
        "OUTRIDER_NAMESERVERS at a resolver without DNS64, on a machine with IPv4; `outrider doctor` checks it."
    )


class DnsFailure(Failed):
    """The name gave no usable answer."""

    code = "dns_failure"
    hint = "Check the spelling of the host; if it is right, its DNS is not answering."


class TlsError(Failed):
    """No trustworthy TLS session: certificate, name, version or handshake."""

    code = "tls_error"
    hint = "The site's certificate or TLS set-up is not valid; it is not fetched without a valid one."


class NetworkError(Failed):
    """The connection could not be made or broke."""

    code = "network_error"
    hint = "The site did not answer properly. Try another source, or this one later."


class RequestTimeout(Failed):
    """The deadline passed."""

    code = "request_timeout"
    hint = "The source is too slow for the deadline. Try another source."


class RedirectLimit(Failed):
    """More redirects than the profile follows."""

    code = "redirect_limit"
    hint = "Fetch the final address directly."


class RedirectBlocked(Refused):
    """A redirect to a place the guard or the profile refuses, or one without a usable Location."""

    code = "redirect_blocked"
    hint = "The source redirects to a place that may not be fetched."


class RedirectLoop(Failed):
    """A redirect back to a URL already visited in this fetch."""

    code = "redirect_loop"
    hint = "The source redirects in a circle without cookies. Use another source."


class HttpError(Failed):
    """A status outside 2xx, where the profile takes that as a failure."""

    code = "http_error"
    hint = "The site answered with an error status. Check the address or use another source."


class RateLimited(Failed):
    """The site asks for fewer requests: 429, or 503 with Retry-After."""

    code = "rate_limited"
    hint = "The site limits requests. Do other work, or use another source; do not retry at once."


class SourceUnavailable(Failed):
    """The site says that it is not available: 502, 503, 504."""

    code = "source_unavailable"
    hint = "The site is down for now. Do other work, or use another source."


class HeadersTooLarge(Failed):
    """The response header block outgrew its bounds."""

    code = "headers_too_large"
    hint = "The site's answer is malformed or hostile. Use another source."


class ResponseTooLarge(Failed):
    """The body outgrew its bound, on the wire or decoded; what we had was dropped."""

    code = "response_too_large"
    hint = "The page is larger than the published limit. Use a more focused source."


class TruncatedBody(Failed):
    """The body ended before its own framing said so; it is never stored as complete."""

    code = "truncated_body"
    hint = "The site broke off in the middle. Try again later or use another source."


class UnsupportedContentType(Failed):
    """Not one of the media kinds that the profile reads, judged by bytes as well as by header."""

    code = "unsupported_content_type"
    hint = "Only HTML, XHTML, plain text, Markdown and JSON are read: no PDF, image or download."


class UnsupportedContentEncoding(Failed):
    """A content coding we did not ask for, or one that did not decode."""

    code = "unsupported_content_encoding"
    hint = "The site sends an encoding that was not asked for. Use another source."


# --- content ------------------------------------------------------------------------------------------------------


class ExtractionFailed(Failed):
    """The page could not be turned into text within its bounds."""

    code = "extraction_failed"
    hint = "The page is malformed or hostile. Use another source."


class EmptySource(Failed):
    """The body holds no readable text."""

    code = "empty_source"
    hint = "The page holds no text (it may need JavaScript). Use another source."


class ChangedContent(Failed):
    """A continuation's text differs from the text that was being read."""

    code = "changed_content"
    hint = "The page changed since the first part: start again at offset 0 without expectedHash."


# --- ledger -------------------------------------------------------------------------------------------------------


class OperationInProgress(Refused):
    """The same call is being carried out right now by another delivery."""

    code = "operation_in_progress"
    retryable = True
    hint = "Wait for the running call's result; calling again sends nothing."


class CallConflict(Refused):
    """The same call id with other arguments."""

    code = "call_conflict"
    hint = "Use a new call id for new arguments."


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


class LedgerUnavailable(Broken):
    """PostgreSQL stayed away for longer than we wait."""

    code = "internal"
    retryable = True
    hint = "The ledger's database did not answer. `outrider doctor` says why; nothing was sent for this call."


def revive(code: str, message: str, facts: dict[str, Fact]) -> OutriderError:
    """The error that a stored receipt tells of. An unknown code (from a newer writer) becomes Internal."""
    return _by_code().get(code, Internal)(message, **facts)


@cache
def _by_code() -> dict[str, type[OutriderError]]:
    found: dict[str, type[OutriderError]] = {}
    pending: list[type[OutriderError]] = [OutriderError]
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        if not kind.__subclasses__():
            found.setdefault(kind.code, kind)
    return found | {Internal.code: Internal}
