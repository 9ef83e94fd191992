"""Settings: the only reader of the environment (prefix OUTRIDER_)."""

import binascii
import os
from base64 import b64decode
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class StackMissing(RuntimeError):
    """No ledger or broker is known to this process."""

    def __init__(self) -> None:
        super().__init__(
            "No running stack: start one with `outrider up`, or set OUTRIDER_DATABASE_URL and OUTRIDER_BROKER_URL."
        )


class SettingsUnfit(ValueError):
    """The environment holds what no deployment can run with. The message names the variables, never their values."""

    def __init__(self, error: ValidationError) -> None:
        wrong = ((".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, ")) for one in error.errors())
        super().__init__("; ".join(f"OUTRIDER_{place.upper()}: {why}" for place, why in wrong))


SEAL_KEY_BYTES = 32
BROKERS = ("redis://", "rediss://", "redis+socket://", "valkey://", "valkeys://", "sentinel://", "amqp://", "amqps://")
STORES = BROKERS[:-2]
DATABASES = ("postgresql://", "postgres://", "postgresql+psycopg2://")


def state_home() -> Path:
    """The user's state folder for us, by the XDG base directory specification."""
    return Path.home() / ".local" / "state" / "outrider"


class Settings(BaseSettings):
    """What a deployment may set. Unset URLs mean the embedded PostgreSQL and Valkey under `home`."""

    model_config = SettingsConfigDict(
        env_prefix="OUTRIDER_", env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    home: Path = Field(default_factory=state_home, description="State of the embedded stack.")
    database_url: str | None = Field(default=None, description="postgresql://... of the ledger.")
    broker_url: str | None = Field(default=None, description="redis://... or amqp://... of the message broker.")
    result_url: str | None = Field(default=None, description="redis://... of the result store; default: the broker's.")
    seal_key: SecretStr | None = Field(
        default=None, description="Keys of sealed requests, base64 of 32 bytes each, comma-separated: the first seals."
    )
    sign_key: Path | None = Field(default=None, description="PEM file of the Ed25519 key that signs exported receipts.")
    ca_file: Path | None = Field(default=None, description="PEM bundle to trust instead of certifi's.")
    nameservers: str = Field(default="", description="Comma-separated DNS servers; default: the system's.")
    search_provider: Literal["duckduckgo", "searxng"] = Field(default="duckduckgo", description="Who is asked.")
    searxng_url: str | None = Field(default=None, description="https://... of the SearXNG to ask, a public address.")
    flower_port: int = Field(default=5555, ge=1, le=65535)
    metrics_port: int = Field(default=9464, ge=1, le=65535)
    gateway_port: int = Field(default=8765, ge=1, le=65535)
    admin_port: int = Field(default=8780, ge=1, le=65535)
    admin_url: str | None = Field(
        default=None, pattern=r"^https?://", description="Where people reach the admin server, behind a proxy of yours."
    )
    gateway_url: str | None = Field(
        default=None, pattern=r"^https?://", description="Where clients reach the gateway, behind a proxy of yours."
    )
    token: SecretStr | None = Field(default=None, description="An agent's token, for the gateway over stdio.")
    models_file: Path | None = Field(default=None, description="Model routes, for truth analysis and fusion.")

    @field_validator("seal_key")
    @classmethod
    def _is_a_list_of_keys(cls, value: SecretStr | None) -> SecretStr | None:
        keys_in(value)
        return value

    @field_validator("nameservers")
    @classmethod
    def _are_addresses(cls, value: str) -> str:
        for part in filter(None, map(str.strip, value.split(","))):
            try:
                ip_address(part)
            except ValueError:
                msg = "DNS servers are numeric addresses, separated by commas"
                raise ValueError(msg) from None
        return value

    @field_validator("broker_url", "result_url", "database_url")
    @classmethod
    def _is_of_a_known_kind(cls, value: str | None, info: ValidationInfo) -> str | None:
        kinds = {"broker_url": BROKERS, "result_url": STORES, "database_url": DATABASES}[info.field_name or ""]
        if value is not None and not value.startswith(kinds):
            msg = f"a URL that begins with one of {', '.join(kinds)}"
            raise ValueError(msg)
        return value

    def seal_keys(self) -> tuple[bytes, ...]:
        """The keys of sealed requests, the sealing one first; without any our clients send arguments as they are."""
        return keys_in(self.seal_key)

    def require_broker_url(self) -> str:
        """Where messages go. Raises: StackMissing when neither a URL is set nor a stack was found."""
        if self.broker_url is None:
            raise StackMissing
        return self.broker_url

    def require_result_url(self) -> str:
        """Where replies wait for their reader: the broker when nothing else is said."""
        return self.result_url or self.require_broker_url()

    def require_database_url(self) -> str:
        """Where the ledger lies. Raises: StackMissing when neither a URL is set nor a stack was found."""
        if self.database_url is None:
            raise StackMissing
        return self.database_url

    def require_searxng_url(self) -> str:
        """Where the SearXNG is. Raises: ValueError when it was chosen and not named."""
        if self.searxng_url is None:
            msg = "OUTRIDER_SEARCH_PROVIDER=searxng needs OUTRIDER_SEARXNG_URL"
            raise ValueError(msg)
        return self.searxng_url

    def gateway_address(self) -> str:
        """Where workers of this machine reach the gateway, or where everybody does."""
        return self.gateway_url or f"http://127.0.0.1:{self.gateway_port}/mcp"

    def nameserver_list(self) -> tuple[str, ...]:
        """The DNS servers to ask, empty for the system's."""
        return tuple(part.strip() for part in self.nameservers.split(",") if part.strip())


def secret_of(variable: str) -> str | None:
    """What an environment variable holds that the models file names: a provider's key."""
    return os.environ.get(variable) or None


def keys_in(words: SecretStr | None) -> tuple[bytes, ...]:
    """The keys that a setting names. Raises: ValueError, which says nothing of them."""
    keys = []
    for word in () if words is None else words.get_secret_value().split(","):
        try:
            key = b64decode(word.strip(), validate=True)
        except binascii.Error:
            key = b""
        if len(key) != SEAL_KEY_BYTES:
            msg = f"a key of sealed requests is the base64 of {SEAL_KEY_BYTES} bytes"
            raise ValueError(msg) from None
        keys.append(key)
    return tuple(keys)


_installed: list[Settings] = []


def install(found: Settings) -> None:
    """Make these this process's settings: for a command that found a running stack. Before the first `settings()`."""
    _installed[:] = [found]
    settings.cache_clear()


def installed() -> Settings | None:
    """The settings that were installed, if any were."""
    return _installed[0] if _installed else None


@cache
def settings() -> Settings:
    """This process's settings, read once. Raises: SettingsUnfit."""
    try:
        return _installed[0] if _installed else Settings()
    except ValidationError as error:
        raise SettingsUnfit(error) from None
