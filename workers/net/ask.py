"""Asking: several questions over the wire, side by side, within one deadline.

dnspython's own resolver asks one family at a time, oversteps its lifetime by a tenth, and cannot be interrupted; what
is kept of it is the wire format.
"""

import select
from collections.abc import Sequence

from schemas.deadline import Deadline
from schemas.limits import Limits
from workers.net.answers import Answer, Question
from workers.net.inquiry import Inquiry
from workers.net.nameservers import Nameserver

LOOKUP_SECONDS = 5.0  # for both families together; dnspython's choice
GRACE_SECONDS = 2.0  # for the other family, once one has given addresses: time for a second try
_CANCEL_SECONDS = 0.5  # how long a cancelled call may go unnoticed


def ask(
    questions: Sequence[Question], servers: Sequence[Nameserver], limits: Limits, deadline: Deadline
) -> list[Answer]:
    """The answers, in the order of the questions; one that never came has the code of its last failure.

    Raises: RequestTimeout, Cancelled.
    """
    inquiries = [Inquiry(question, servers, limits) for question in questions]
    try:
        _run(inquiries, deadline)
        return [inquiry.answer or Answer(code=inquiry.code) for inquiry in inquiries]
    finally:
        for inquiry in inquiries:
            inquiry.close()


def _run(inquiries: list[Inquiry], deadline: Deadline) -> None:
    deadline.check("resolving")
    now = deadline.clock()
    ends = deadline.sooner(LOOKUP_SECONDS).at
    graced = False
    for inquiry in inquiries:
        inquiry.ask_next(now)
    while waiting := [inquiry for inquiry in inquiries if inquiry.answer is None]:
        if not graced and any(inquiry.answer and inquiry.answer.addresses for inquiry in inquiries):
            graced, ends = True, min(ends, now + GRACE_SECONDS)
        _wait(waiting, ends, now)
        deadline.check("resolving")
        now = deadline.clock()
        if now >= ends:
            return
        for inquiry in waiting:
            if inquiry.answer is None and now >= inquiry.expires:
                inquiry.expire(now)


def _wait(waiting: list[Inquiry], ends: float, now: float) -> None:
    poller = select.poll()
    by_descriptor = {inquiry.wire.watch(poller.register): inquiry for inquiry in waiting if inquiry.wire}
    until = min(ends, now + _CANCEL_SECONDS, *(inquiry.expires for inquiry in waiting))
    for descriptor, _ in poller.poll(max(0.0, until - now) * 1000):
        by_descriptor[descriptor].read(now)
