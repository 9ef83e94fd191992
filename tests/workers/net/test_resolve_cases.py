"""The recorded DNS cases, against a nameserver on loopback that says what the case says."""

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import AddressRefused, DnsFailure
from schemas.pin import Lookup
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from tests.faults.names import Says, lying_names
from workers.net.resolve import Resolver

ERRORS = {
    "no_addresses": (DnsFailure, "no_addresses"),
    "dns_failure": (DnsFailure, "no_proper_answer"),
    "cname_chain": (DnsFailure, "cname_chain"),
    "too_many_answers": (DnsFailure, "too_many_answers"),
    "non_public_answer": (AddressRefused, None),
}


@pytest.mark.parametrize("case", cases("dns"))
def test_resolver_agrees_with_the_dns_case(case):
    given = case["input"]
    place = Destination.parse(f"https://{given['host']}/")
    record = Lookup()
    with lying_names(_zone(given)) as names:
        resolver = Resolver(("127.0.0.1",), names.port)
        if case["expect"] == "admit":
            pin = resolver.pin(place, WEB_FETCH.limits, Deadline.after(20), record)
            assert {str(address) for address in pin.addresses} == _answers(given)
            assert len(pin.addresses) == len(set(pin.addresses))
        else:
            error, reason = ERRORS[case["reason"]]
            with pytest.raises(error) as refused:
                resolver.pin(place, WEB_FETCH.limits, Deadline.after(20), record)
            assert refused.value.facts.get("reason") == reason
            assert bool(record.verdicts) is (error is AddressRefused)
        if case["reason"] != "partial":  # a silent family is asked once more within its grace
            assert (names.count("A"), names.count("AAAA")) == (_lookups(given, "A"), 1)
    assert _codes(record) == {family: given[family]["rcode"] for family in ("A", "AAAA")} | _chain_codes(case)


def _zone(given):
    host = given["host"]
    zone = {}
    for family in ("A", "AAAA"):
        first = _says(given, given[family])
        later = given.get("second_lookup", {}).get(family)
        zone[host, family] = (first, _says(given, later)) if later else first
    return zone


def _says(given, said):
    if said["rcode"] == "TIMEOUT":
        return Says(manner="silent")
    return Says(answers=tuple(said["answers"]), rcode=said["rcode"], cname=_chain(given))


def _chain(given):
    if given.get("cname_loop"):
        return ("b.example.net", given["host"])
    return tuple(given.get("cname", [f"link{n}.example.net" for n in range(given.get("cname_len", 0))]))


def _answers(given):
    return {address for family in ("A", "AAAA") for address in given[family]["answers"]}


def _lookups(given, family):
    return 2 if len(given[family]["answers"]) > 25 else 1  # more than 512 octets: asked again over TCP


def _codes(record):
    return {family: code.replace("timeout", "TIMEOUT") for family, code in record.dns.items()}


def _chain_codes(case):
    if case["reason"] == "cname_chain":
        return dict.fromkeys(("A", "AAAA"), "cname_chain")
    return {"A": "too_many_answers"} if case["reason"] == "too_many_answers" else {}
