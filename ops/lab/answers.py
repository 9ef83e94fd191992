"""What the lab's DNS says about one name: the nouns of a DNS lie, read from a zone file or a control call."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from ops.lab.errors import ZoneWrong

RCODES = frozenset({"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"})
# How a packet may be spoiled on its way: see ops.lab.names.
SPOILS = frozenset({"", "garbage", "cut", "truncated", "truncated_always", "wrong_id", "wrong_question", "empty"})
FIELDS = frozenset({"rcode", "answers", "delay_seconds", "delay_ms", "silent", "spoil", "ttl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One reply to one question. `silent` sends nothing; `spoil` names the way the packet is damaged."""

    rcode: str = "NOERROR"
    addresses: tuple[str, ...] = ()
    delay_seconds: float = 0.0
    silent: bool = False
    spoil: str = ""
    ttl_seconds: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """All that DNS says about one name.

    Order: `a` and `aaaa` are told one after the other, the last one for ever: a name that rebinds has two.
    """

    a: tuple[Answer, ...] = (Answer(),)
    aaaa: tuple[Answer, ...] = (Answer(),)
    cname: str = ""

    def addresses(self) -> tuple[str, ...]:
        """Every address this name ever gives, each once, in order."""
        return tuple(dict.fromkeys(one for answer in (*self.a, *self.aaaa) for one in answer.addresses))


def read_name(entry: Mapping[str, Any], where: str) -> Name:
    """The name described by keys A, AAAA and CNAME. Raises: ZoneWrong."""
    return Name(
        a=_read_answers(entry.get("A", []), f"{where}.A"),
        aaaa=_read_answers(entry.get("AAAA", []), f"{where}.AAAA"),
        cname=fold(str(entry.get("CNAME", ""))),
    )


def fold(name: str) -> str:
    """The spelling names are compared by."""
    return name.rstrip(".").lower()


def _read_answers(given: Any, where: str) -> tuple[Answer, ...]:
    """An address list, one table, or a sequence of tables or lists."""
    if isinstance(given, Mapping):
        return (_read_answer(given, where),)
    if not isinstance(given, list):
        raise ZoneWrong(f"{where}: give a list of addresses, a table, or a list of those")
    if all(isinstance(one, str) for one in given):
        return (_read_answer({"answers": given}, where),)
    tables = [one if isinstance(one, Mapping) else {"answers": one} for one in given]
    return tuple(_read_answer(table, where) for table in tables)


def _read_answer(table: Mapping[str, Any], where: str) -> Answer:
    if unknown := set(table) - FIELDS:
        raise ZoneWrong(f"{where}: unknown {sorted(unknown)}; known: {sorted(FIELDS)}")
    rcode = str(table.get("rcode", "NOERROR"))
    spoil = str(table.get("spoil", ""))
    silent = bool(table.get("silent", rcode == "TIMEOUT"))
    if spoil not in SPOILS or (rcode not in RCODES and not silent):
        raise ZoneWrong(f"{where}: rcode {rcode!r} or spoil {spoil!r} is none we can tell")
    return Answer(
        rcode="SERVFAIL" if silent else rcode,
        addresses=tuple(_address(one, where) for one in table.get("answers", [])),
        delay_seconds=float(table.get("delay_seconds", float(table.get("delay_ms", 0)) / 1000)),
        silent=silent,
        spoil=spoil,
        ttl_seconds=int(table.get("ttl", 60)),
    )


def _address(text: str, where: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as problem:
        raise ZoneWrong(f"{where}: {problem}") from problem
