"""Benches: everything of the outside world that a handler may touch, bound to one call."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.document import Document
from schemas.limits import Limits
from schemas.operation import BudgetLeft
from schemas.reply import Ask, Reply
from workers.search.provider import Provider

Progress = Callable[[str, dict[str, int | str]], None]
T = TypeVar("T")

PLAIN_GET = Ask()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a call is judged by before it is admitted: its tool's limits, and the deployment's search provider."""

    limits: Limits
    provider: Provider


class Ride(Protocol):
    """Fetches one destination."""

    def __call__(self, place: Destination, ask: Ask = PLAIN_GET, /) -> Reply:
        """The reply to what is asked. Raises: Refused, Failed."""


class Apart(Protocol):
    """Reads a reply in a process of its own."""

    def __call__(self, read: Callable[[bytes, str], T], reply: Reply, /) -> T:
        """What a module's function makes of the body and its Content-Type. Raises: Failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The hands of one call: the guarded road, the extractor, the clock, and what the call may still spend.

    Shape: `ride` fetches one destination within the call's limits, deadline and journal; `read` makes a Document of a
    reply in a process of its own, `apart` whatever a reader makes of it. Raises: they raise Refused and Failed.
    """

    limits: Limits
    deadline: Deadline
    budget: BudgetLeft
    ride: Ride
    read: Callable[[Reply], Document]
    apart: Apart
    now: Callable[[], datetime]
    progress: Progress
