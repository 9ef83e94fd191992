"""Every dns case through a worker: DNS says what the case says, and the receipt says what was heard.

M49, M51, M128, M129, X3, X5.
"""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from ops.lab.control import LabControl
from tests.cases import cases
from tests.fleet import Fleet
from tests.walks.crowd import Seen, see_all

ROWS = cases("dns")
FAMILIES = ("A", "AAAA")
PUBLIC = (ip_network("93.184.0.0/16"), ip_network("2606:2800::/32"))  # what the lab owns
LISTENERS = 2  # of a case's public addresses: a place to arrive at, also for a call that should not go there

# What a case's reason is with us: the code of the error and its facts.
ERRORS = {
    "no_addresses": ("dns_failure", {"reason": "no_addresses"}),
    "dns_failure": ("dns_failure", {"reason": "no_proper_answer"}),
    "cname_chain": ("dns_failure", {"reason": "cname_chain"}),
    "too_many_answers": ("dns_failure", {"reason": "too_many_answers"}),
    "non_public_answer": ("blocked_address", {}),
}
# A network's diagnosis is told, what DNS said is not. Only a public address inside means a DNS64 (not so dns-020).
DIAGNOSED = {"dns-019": {"diagnosis": "dns64"}}
OVER_UDP = 25  # addresses: more do not fit into a packet, and are asked for again over TCP


def host_of(row: dict[str, Any]) -> str:
    return f"{row['id']}.case-names.net"


def answers_of(row: dict[str, Any], family: str) -> list[str]:
    """The addresses as DNS can carry them: without a zone (dns-032)."""
    return [text.partition("%")[0] for text in row["input"][family]["answers"]]


def every_answer(row: dict[str, Any]) -> set[str]:
    return {str(ip_address(text)) for family in FAMILIES for text in answers_of(row, family)}


def is_public(text: str) -> bool:
    return any(ip_address(text) in network for network in PUBLIC if network.version == ip_address(text).version)


def records(row: dict[str, Any]) -> dict[str, Any]:
    """A case's answers in the words of a zone file."""
    later = row["input"].get("second_lookup", {})
    said = {}
    for family in FAMILIES:
        first = row["input"][family] | {"answers": answers_of(row, family)}
        said[family] = [first, later[family]] if family in later else first
    return said


def chain(row: dict[str, Any]) -> list[str]:
    """The aliases after the host, in names of the case's own."""
    given, host = row["input"], host_of(row)
    if given.get("cname_loop"):
        return [f"b.{host}", host]
    names = given.get("cname", [f"link{number}" for number in range(given.get("cname_len", 0))])
    return [f"{name.partition('.')[0]}.{host}" for name in names]


def arrange(lab: LabControl, row: dict[str, Any]) -> None:
    """Serve the case's public addresses, then make DNS say what the case says."""
    host, links = host_of(row), chain(row)
    places = [text for text in sorted(every_answer(row)) if is_public(text)][:LISTENERS]
    lab.site(host, site="page", file="article.html", listen=places)
    for name, target in zip([host, *links], links, strict=False):
        lab.dns(name, CNAME=target)
    if not row["input"].get("cname_loop"):
        lab.dns([host, *links][-1], **records(row))


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> Iterator[dict[str, Seen]]:
    """All cases at once, each on a host of its own."""
    whole_lab.reset()
    rows = [param.values[0] for param in ROWS]
    for row in rows:
        arrange(whole_lab, row)
    yield see_all(fleet, [(row["id"], f"https://{host_of(row)}/") for row in rows])
    assert whole_lab.canaries() == []


@pytest.mark.parametrize("row", ROWS)
def test_call_agrees_with_the_dns_case(answers: dict[str, Seen], whole_lab: LabControl, row: dict[str, Any]) -> None:
    seen, host = answers[row["id"]], host_of(row)
    (hop,) = seen.hops
    if row["expect"] == "admit":
        assert (seen.outcome, hop["sent"]) == ("completed", "sent"), row["why"]
        assert hop["peer"] in every_answer(row)
    else:
        code, facts = ERRORS[row["reason"]]
        assert (seen.outcome, seen.code, seen.facts) == ("failed", code, DIAGNOSED.get(row["id"], facts)), row["why"]
        assert (hop["sent"], hop.get("peer")) == ("not_sent", None)
    assert whole_lab.hits(host) == ({f"{host}/": 1} if row["expect"] == "admit" else {})


@pytest.mark.parametrize("row", ROWS)
def test_receipt_says_what_dns_said_in_the_case(answers: dict[str, Seen], row: dict[str, Any]) -> None:
    (hop,) = answers[row["id"]].hops
    codes = {family: row["input"][family]["rcode"].replace("TIMEOUT", "timeout") for family in FAMILIES}
    if row["reason"] == "cname_chain":
        codes = dict.fromkeys(FAMILIES, "cname_chain")
    bounded = row["reason"] == "too_many_answers"
    assert hop["dns"] == codes | ({"A": "too_many_answers"} if bounded else {})
    if row["reason"] not in {"cname_chain", "too_many_answers"}:  # those end before an address is looked at
        assert set(hop.get("addresses", ())) == every_answer(row)
        assert len(hop.get("addresses", ())) == len(every_answer(row))
        assert set(hop.get("verdicts", ())) == {text for text in every_answer(row) if not is_public(text)}


@pytest.mark.parametrize("row", ROWS)
def test_name_of_the_case_is_looked_up_once(
    answers: dict[str, Seen], whole_lab: LabControl, row: dict[str, Any]
) -> None:
    """M51: one lookup a hop. Packets are not lookups: TCP after a cut answer, a silent server asked again."""
    asked = [(query["type"], query["transport"]) for query in whole_lab.queries(host_of(row))]
    assert answers
    if row["reason"] == "partial":
        assert {family for family, _ in asked} == set(FAMILIES)
    elif len(row["input"]["A"]["answers"]) > OVER_UDP:
        assert sorted(asked) == [("A", "tcp"), ("A", "udp"), ("AAAA", "udp")]
    else:
        assert sorted(asked) == [("A", "udp"), ("AAAA", "udp")]
