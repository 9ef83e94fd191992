"""The root of the error tree: Refused (we would not), Failed (it could not), Broken (our fault).

Each leaf owns one stable code of the contract. A message never carries a query string, a body, a header value or an
internal address; `facts` are plain and public. Retired codes stay reserved.
"""

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
