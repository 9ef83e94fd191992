"""Benches: everything of the outside world that a handler may touch, bound to one call."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.document import Document
from schemas.limits import Limits
from schemas.operation import BudgetLeft
from schemas.reply import Reply

Progress = Callable[[str, dict[str, int | str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The hands of one call: the guarded road, the extractor, the clock, and what the call may still spend.

    Shape: `ride` fetches one destination within the call's limits, deadline and journal; `read` makes a Document of a
    reply in a process of its own. Raises: both raise Refused and Failed.
    """

    limits: Limits
    deadline: Deadline
    budget: BudgetLeft
    ride: Callable[[Destination], Reply]
    read: Callable[[Reply], Document]
    now: Callable[[], datetime]
    progress: Progress
