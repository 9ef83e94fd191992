"""The nouns of the lab's tests: who visits, and what a visit brings back."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Visit:
    """What one GET brought back."""

    url: str
    peer: str | None
    error: str | None
    wire: bytes

    @property
    def status(self) -> int:
        return int(self.wire.split(b" ", 2)[1]) if self.wire else 0

    @property
    def head(self) -> bytes:
        return self.wire.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        return self.wire.partition(b"\r\n\r\n")[2]


Go = Callable[..., list[Visit]]


@dataclass(frozen=True)
class Ordinary:
    """A user without rights: the words that become them, and those that start their interpreter."""

    uid: int
    become: list[str]
    python: list[str]
