"""What was asked for: arguments, permission and budget. Refused before a packet leaves."""

from schemas.errors.tree import Refused


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


class CapabilityDisabled(Refused):
    """The project does not have this capability switched on."""

    code = "capability_disabled"
    hint = "An administrator can enable it in the project's Web search & fetch settings."


class AgentNotPermitted(Refused):
    """The project does not permit this agent."""

    code = "agent_not_permitted"
    hint = "An administrator can permit this agent in the project's Web search & fetch settings."


class CapabilityForbidden(Refused):
    """The caller's identity does not have this tool, whatever its project allows."""

    code = "capability_forbidden"
    hint = "Use the tools that this identity is listed; an administrator can give an agent more for its next execution."


class SettingsChanged(Refused):
    """The project's settings were saved while the call was under way: its result is withheld."""

    code = "settings_changed"
    retryable = True
    hint = "The project's settings changed during the call. Call again; the new settings apply."


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
