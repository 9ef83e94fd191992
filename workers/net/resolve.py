"""Resolving: a destination becomes a pin, when every address that DNS gives for it is public.

Names are asked as absolute ones, of nameservers alone: no search domain, no hosts file, no cache between calls, and
one lookup a hop, so that a second answer can never replace the judged one.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import AddressRefused, Dns64Network, DnsFailure, FakeIpDns
from schemas.limits import Limits
from schemas.pin import Lookup, Pin
from workers.net.answers import Answer, Question
from workers.net.ask import ask
from workers.net.judge import OPAQUE, Diagnosis, Verdict, judge_address, judge_host
from workers.net.nameservers import RESOLV_CONF, Nameservers
from workers.net.registries import Address

FAMILIES = ("AAAA", "A")

# RFC 7050: only DNS64 gives this name an AAAA. A fake-IP proxy gives any name a stand-in.
_DNS64_PROBE = ("ipv4only.arpa", "AAAA")
_FAKE_IP_PROBE = ("example.com", "A")

_DIAGNOSES: dict[Diagnosis, type[AddressRefused]] = {"fake_ip_dns": FakeIpDns, "dns64": Dns64Network}

_FAILURES = {
    "cname_chain": "The name's chain of aliases is too long.",
    "too_many_answers": "The name has more addresses than one lookup takes.",
    "NXDOMAIN": "The name does not exist.",
    "NOERROR": "The name has no address.",
    "timeout": "The name's DNS did not answer in time.",
    "unreachable": "No DNS server could be reached.",
}
_REASONS = {"NXDOMAIN": "no_such_name", "NOERROR": "no_addresses", "unreachable": "no_proper_answer"}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Resolver:
    """The way from a destination to its pin. One serves all threads of a process.

    Shape: `nameservers` are numeric addresses; none means the system's, read again when they change.
    """

    def __init__(
        self,
        nameservers: tuple[str, ...] = (),
        port: int = 53,
        *,
        resolv_conf: str = RESOLV_CONF,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._servers = Nameservers(nameservers, port, resolv_conf)
        self._now = now

    def pin(self, place: Destination, limits: Limits, deadline: Deadline, record: Lookup) -> Pin:
        """The proof that a place is public now; `record` tells what was learned, also when this raises.

        Raises: AddressRefused, DnsFailure, RequestTimeout, Cancelled.
        """
        if place.literal is not None:
            _note_literal(judge_address(place.literal), record)
        judge_host(place)
        addresses = (place.literal,) if place.literal else self._lookup(place, limits, deadline, record)
        return Pin(host=place.host, port=place.port, addresses=addresses, resolved_at=self._now())

    def diagnose(self, limits: Limits, deadline: Deadline) -> Diagnosis | None:
        """What is wrong with the network's DNS, where it makes the guard refuse everything (X14); None when nothing is.

        Raises: DnsFailure when no server is named, RequestTimeout, Cancelled.
        """
        questions = [Question.of(name, family) for name, family in (_DNS64_PROBE, _FAKE_IP_PROBE)]
        translated, plain = ask(questions, self._servers.now(), limits, deadline)
        if translated.addresses:
            return "dns64"
        return _diagnosis(judge_address(address) for address in plain.addresses)

    def _lookup(self, place: Destination, limits: Limits, deadline: Deadline, record: Lookup) -> tuple[Address, ...]:
        questions = [Question.of(place.name, family) for family in FAMILIES]
        servers = self._servers.now()
        record.dns = dict.fromkeys(FAMILIES, "unfinished")  # what stays, when the deadline or the caller ends it
        answers = ask(questions, servers, limits, deadline)
        addresses = tuple(dict.fromkeys(address for answer in answers for address in answer.addresses))
        record.dns = {family: answer.code for family, answer in zip(FAMILIES, answers, strict=True)}
        record.cname = max((answer.cname for answer in answers), key=len)
        _bound(answers, addresses, limits)
        record.addresses = tuple(judge_address(address).address for address in addresses)
        _judge_all(addresses, record)
        _require_address(answers, addresses)
        return addresses


def _note_literal(verdict: Verdict, record: Lookup) -> None:
    record.dns = {"literal": "not_asked"}
    record.addresses = (verdict.address,)
    record.verdicts = {} if verdict.public else {verdict.address: verdict.reason}


def _bound(answers: Sequence[Answer], addresses: Sequence[Address], limits: Limits) -> None:
    codes = [answer.code for answer in answers]
    if len(addresses) > limits.dns_answers_max or "too_many_answers" in codes:
        raise _failure("too_many_answers")
    if "cname_chain" in codes:
        raise _failure("cname_chain")


def _judge_all(addresses: Sequence[Address], record: Lookup) -> None:
    refused = [verdict for verdict in map(judge_address, addresses) if not verdict.public]
    if not refused:
        return
    record.verdicts = {verdict.address: verdict.reason for verdict in refused}
    diagnosis = _diagnosis(refused)
    if diagnosis is None:
        raise AddressRefused(OPAQUE)  # opaque: what DNS said is in the record alone
    raise _DIAGNOSES[diagnosis](OPAQUE, diagnosis=diagnosis)


def _diagnosis(verdicts: Iterable[Verdict]) -> Diagnosis | None:
    found = {verdict.diagnosis for verdict in verdicts if not verdict.public}
    return found.pop() if len(found) == 1 else None


def _require_address(answers: Sequence[Answer], addresses: Sequence[Address]) -> None:
    """One failing family is tolerated: only judged addresses are pinned, and the record shows the gap."""
    if addresses:
        return
    codes = {answer.code for answer in answers}
    telling = next((code for code in ("NXDOMAIN", "timeout") if code in codes), None)
    # An rcode sorts before our own lower-case codes: where a server spoke, none is called unreachable.
    raise _failure(telling or min(codes - {"NOERROR"}, default="NOERROR"))


def _failure(code: str) -> DnsFailure:
    words = _FAILURES.get(code, "The name's DNS did not answer properly.")
    return DnsFailure(words, reason=_REASONS.get(code, code if code in _FAILURES else "no_proper_answer"))
