"""An inquiry: one question on its way through the nameservers until one of them answers."""

from collections.abc import Sequence
from secrets import randbits

from schemas.limits import Limits
from workers.net.answers import Answer, Question, read_reply
from workers.net.nameservers import Nameserver
from workers.net.wire import Wire

TRY_SECONDS = 1.5  # for one server, before the next is asked, or the same one again
_ROUNDS = 3  # times that each server is asked when nothing comes back; the lookup's end is usually sooner

# Another server may know better; the same one, asked again, says the same.
_SERVER_FAULTS = frozenset({"SERVFAIL", "REFUSED", "NOTIMP", "FORMERR", "truncated", "malformed"})


class Inquiry:
    """One question under way: to be closed.

    Shape: `answer` is None until the end is known; while it is, `code` says how the last server failed and `wire` leads
    to the present one, which has until `expires`, an instant of the caller's clock.
    """

    def __init__(self, question: Question, servers: Sequence[Nameserver], limits: Limits) -> None:
        self.answer: Answer | None = None
        self.code = "timeout"
        self.expires = 0.0
        self.wire: Wire | None = None
        self._question = question
        self._limits = limits
        self._queue = list(servers) * _ROUNDS
        self._query_id = randbits(16)
        self._junk = False

    def ask_next(self, now: float) -> None:
        """Send to the next server; when none is left, the last failure is the answer."""
        while self._queue:
            server = self._queue.pop(0)
            try:
                self._send(server)
            except OSError:
                self._strike(server, "unreachable")
            else:
                self.expires = now + TRY_SECONDS
                return
        self._end(Answer(code=self.code))

    def expire(self, now: float) -> None:
        """Give the present server up; it is asked again after the others, unless it sent junk."""
        if self._junk and self.wire:
            self._strike(self.wire.server, "malformed")
        else:
            self.code = "timeout"
        self.ask_next(now)

    def read(self, now: float) -> None:
        """Take what the wire has ready."""
        if self.wire is None:
            return
        try:
            reply = self.wire.advance()
            if reply is not None:
                self._take(reply, self.wire, now)
        except OSError:
            self._strike(self.wire.server, "unreachable")
            self.ask_next(now)

    def close(self) -> None:
        """Let the wire go."""
        if self.wire is not None:
            self.wire.close()
            self.wire = None

    def _send(self, server: Nameserver) -> None:
        # The same server keeps its socket and id, so that a late answer to the first query still counts.
        if self.wire is None or self.wire.tcp or self.wire.server != server:
            self._open(server, tcp=False)
        if self.wire is not None:
            self.wire.send(self._question.query(self._query_id))

    def _open(self, server: Nameserver, *, tcp: bool) -> None:
        self.close()
        self._junk = False
        self._query_id = randbits(16)
        self.wire = Wire(server, tcp=tcp)

    def _take(self, reply: bytes, wire: Wire, now: float) -> None:
        answer = read_reply(reply, self._question, self._query_id, self._limits)
        if answer is None:
            return
        if answer.code == "malformed" and not wire.tcp:
            self._junk = True  # perhaps forged: the true answer may still come (CVE-2023-29483)
        elif answer.code == "truncated" and not wire.tcp:
            self._open(wire.server, tcp=True)
            self._send_again(now)
        elif answer.code in _SERVER_FAULTS:
            self._strike(wire.server, answer.code)
            self.ask_next(now)
        else:
            self._end(answer)

    def _send_again(self, now: float) -> None:
        if self.wire is not None:
            self.wire.send(self._question.query(self._query_id))
            self.expires = now + TRY_SECONDS

    def _strike(self, server: Nameserver, code: str) -> None:
        self.code = code
        self._queue = [other for other in self._queue if other != server]
        self.close()

    def _end(self, answer: Answer) -> None:
        self.answer = answer
        self.close()
