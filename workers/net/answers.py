"""DNS answers: what one reply says about one family of a name's addresses.

Of a reply only the answer section is read, and of that only A, AAAA and CNAME: cheaper than dnspython's whole message,
and a hostile reply cannot make us parse sections that nobody needs. Names, compression and bounds checks are
dnspython's.
"""

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from struct import Struct

from dns import rcode
from dns.exception import DNSException, FormError
from dns.name import Name
from dns.wire import Parser

from schemas.limits import Limits
from workers.net.registries import Address

_HEADER = Struct("!HHHHHH")
_RESPONSE, _TRUNCATED, _OPCODE, _RCODE = 0x8000, 0x0200, 0x7800, 0x000F  # RFC 1035 section 4.1.1
_RECURSION_DESIRED = 0x0100
_IN = 1
_CNAME = 5
_RDTYPES = {"A": 1, "AAAA": 28}
_ADDRESSES: dict[int, type[IPv4Address] | type[IPv6Address]] = {1: IPv4Address, 28: IPv6Address}
_LENGTHS = {1: 4, 28: 16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one family came to.

    Shape: `code` is an rcode, or "truncated", "malformed", "timeout", "unreachable", "cname_chain",
    "too_many_answers"; `cname` is the chain after the asked name, in order.
    """

    code: str
    addresses: tuple[Address, ...] = ()
    cname: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One family of one name, as it goes over the wire."""

    family: str
    name: Name
    wire: bytes

    @classmethod
    def of(cls, host: str, family: str) -> "Question":
        """The question for a host. Shape: an A-label name without its trailing dot; always asked as absolute."""
        name = Name([*(label.encode() for label in host.split(".")), b""])
        return cls(family=family, name=name, wire=(name.to_wire() or b"") + Struct("!HH").pack(_RDTYPES[family], _IN))

    def query(self, query_id: int) -> bytes:
        """The whole query message."""
        return _HEADER.pack(query_id, _RECURSION_DESIRED, 1, 0, 0, 0) + self.wire


@dataclass(slots=True)
class _Rows:
    """The rows of an answer section that we read, by owner."""

    cname: dict[Name, Name] = field(default_factory=dict)
    addresses: dict[Name, list[Address]] = field(default_factory=dict)


def read_reply(reply: bytes, question: Question, query_id: int, limits: Limits) -> Answer | None:
    """The answer in a reply, or None when the reply is none to this query (a late or a forged one)."""
    if len(reply) < _HEADER.size:
        return Answer(code="malformed")
    reply_id, flags, questions, answers, _, _ = _HEADER.unpack_from(reply)
    code = rcode.to_text(rcode.from_flags(flags & _RCODE, 0))
    ours = reply_id == query_id and flags & _RESPONSE and not flags & _OPCODE
    if not ours or not _echoes(reply, question, questions, code):
        return None
    if flags & _TRUNCATED or code != "NOERROR":
        return Answer(code="truncated" if flags & _TRUNCATED else code)
    return _read_answers(reply, question, answers, limits)


def _read_answers(reply: bytes, question: Question, count: int, limits: Limits) -> Answer:
    if count > limits.dns_answers_max + limits.cname_max:
        return Answer(code="too_many_answers")
    try:
        rows = _read_rows(reply, _HEADER.size + len(question.wire), count, _RDTYPES[question.family])
    except DNSException:
        return Answer(code="malformed")
    return _follow(question.name, rows, limits)


def _echoes(reply: bytes, question: Question, questions: int, code: str) -> bool:
    if questions == 0:  # servers that could not read a query may leave it out of their complaint
        return code in {"FORMERR", "SERVFAIL", "NOTIMP", "REFUSED"}
    start = _HEADER.size
    return questions == 1 and reply[start : start + len(question.wire)].lower() == question.wire.lower()


def _read_rows(reply: bytes, start: int, count: int, wanted: int) -> _Rows:
    parser = Parser(reply, start)
    rows = _Rows()
    for _ in range(count):
        owner = parser.get_name(decompress=True)
        rdtype, rdclass, _, length = parser.get_struct("!HHIH")
        if rdclass == _IN and rdtype == _CNAME:
            with parser.restrict_to(length):
                rows.cname.setdefault(owner, parser.get_name(decompress=True))
            continue
        octets = parser.get_bytes(length)
        if rdclass == _IN and rdtype == wanted:
            if length != _LENGTHS[rdtype]:
                raise FormError
            rows.addresses.setdefault(owner, []).append(_ADDRESSES[rdtype](octets))
    return rows


def _follow(name: Name, rows: _Rows, limits: Limits) -> Answer:
    chain: list[str] = []
    while name in rows.cname:
        name = rows.cname[name]
        chain.append(name.to_text(omit_final_dot=True))
        if len(chain) > limits.cname_max:  # a loop gets here too
            return Answer(code="cname_chain", cname=tuple(chain[: limits.cname_max]))
    return Answer(code="NOERROR", addresses=tuple(rows.addresses.get(name, ())), cname=tuple(chain))
