"""The resolver: what it asks, whom, how long it waits, and what its record and its refusals tell."""

import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import AddressRefused, Cancelled, Dns64Network, DnsFailure, FakeIpDns, RequestTimeout
from schemas.pin import Lookup
from schemas.profiles import WEB_FETCH
from tests.faults.names import Says, closed_port, lying_names
from workers.net.resolve import Resolver

LIMITS = WEB_FETCH.limits
HOST = "good.example"
PLACE = Destination.parse(f"https://{HOST}/")
IPV4, IPV6 = "93.184.216.34", "2606:2800:220:1::1"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def zone(a=Says(), aaaa=Says(), host=HOST):  # noqa: B008 - frozen
    return {(host, "A"): a, (host, "AAAA"): aaaa}


PUBLIC = zone(Says(answers=(IPV4,)), Says(answers=(IPV6,)))


def pinned(names, *, place=PLACE, limits=LIMITS, deadline=None, record=None):
    resolver = Resolver(("127.0.0.1",), names.port, now=lambda: NOW)
    return resolver.pin(place, limits, deadline or Deadline.after(20), record or Lookup())


def test_resolver_pins_both_families_ipv6_first_when_all_is_public():
    record = Lookup()
    with lying_names(PUBLIC) as names:
        pin = pinned(names, record=record)

    assert [str(address) for address in pin.addresses] == [IPV6, IPV4]
    assert (pin.host, pin.port, pin.resolved_at) == (HOST, 443, NOW)
    assert record == Lookup(dns={"AAAA": "NOERROR", "A": "NOERROR"}, addresses=(IPV6, IPV4))


def test_resolver_pins_the_spelling_of_the_href_and_asks_for_the_name_when_the_host_ends_in_a_dot():
    with lying_names(PUBLIC) as names:
        pin = pinned(names, place=Destination.parse(f"https://{HOST}./"))

    assert pin.host == f"{HOST}."
    assert {name for name, _, _ in names.asked} == {HOST}


def test_resolver_pins_a_public_literal_without_asking_anybody():
    record = Lookup()
    with lying_names({}) as names:
        pin = pinned(names, place=Destination.parse("http://[2606:4700::1]:80/"), record=record)

    assert (pin.host, [str(address) for address in pin.addresses]) == ("2606:4700::1", ["2606:4700::1"])
    assert record.dns == {"literal": "not_asked"}
    assert names.asked == []


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://db.internal./"])
def test_resolver_asks_nothing_when_the_host_is_not_public_by_itself(url):
    with lying_names({}) as names, pytest.raises(AddressRefused):
        pinned(names, place=Destination.parse(url))
    assert names.asked == []


def test_resolver_refuses_opaquely_and_records_the_verdicts_when_one_answer_is_private():
    record = Lookup()
    mixed = zone(Says(answers=(IPV4, "10.0.0.1")), Says(answers=(IPV6,)))
    with lying_names(mixed) as names, pytest.raises(AddressRefused) as refused:
        pinned(names, record=record)

    assert (str(refused.value), refused.value.facts) == ("The host is not a public destination.", {})
    assert record.verdicts == {"10.0.0.1": "private"}
    assert record.addresses == (IPV6, IPV4, "10.0.0.1")


@pytest.mark.parametrize(
    ("a", "aaaa", "error", "diagnosis"),
    [
        (("198.18.0.9",), (), FakeIpDns, "fake_ip_dns"),
        ((IPV4,), ("64:ff9b::5db8:d822",), Dns64Network, "dns64"),
        (("198.18.0.9", "10.0.0.1"), (), AddressRefused, None),  # more than the network's habit is wrong
        ((), ("64:ff9b::a9fe:a9fe",), AddressRefused, None),  # no DNS64 makes this from a public name
    ],
    ids=["X14 fake-IP", "X14 DNS64", "fake-IP and private", "NAT64 of metadata"],
)
def test_resolver_names_the_network_that_makes_it_refuse_everything(a, aaaa, error, diagnosis):
    with lying_names(zone(Says(answers=a), Says(answers=aaaa))) as names, pytest.raises(error) as refused:
        pinned(names)

    assert refused.value.code == "blocked_address"
    assert refused.value.facts.get("diagnosis") == diagnosis
    assert ("OUTRIDER_NAMESERVERS" in refused.value.hint) is (diagnosis is not None)


@pytest.mark.parametrize(
    ("said", "diagnosis"),
    [
        ({("ipv4only.arpa", "AAAA"): Says(answers=("64:ff9b::192.0.0.170",))}, "dns64"),
        ({("ipv4only.arpa", "AAAA"): Says(answers=("2a00:1:2:3::c000:aa",))}, "dns64"),  # a prefix of the network's own
        ({("example.com", "A"): Says(answers=("198.18.3.4",))}, "fake_ip_dns"),
        ({("example.com", "A"): Says(answers=(IPV4,))}, None),
        ({}, None),
    ],
)
def test_resolver_diagnoses_the_network_x14(said, diagnosis):
    with lying_names(said) as names:
        assert Resolver(("127.0.0.1",), names.port).diagnose(LIMITS, Deadline.after(20)) == diagnosis


@pytest.mark.parametrize(
    ("links", "pins"),
    [
        (7, True),  # under
        (8, True),  # at
        (9, False),  # over
    ],
)
def test_resolver_bounds_the_chain_of_aliases(links, pins):
    chain = tuple(f"c{n}.example" for n in range(links))
    record = Lookup()
    with lying_names(zone(Says(answers=(IPV4,), cname=chain))) as names:
        if pins:
            pinned(names, record=record)
            assert record.cname == chain
        else:
            with pytest.raises(DnsFailure) as failed:
                pinned(names, record=record)
            assert failed.value.facts["reason"] == "cname_chain"


@pytest.mark.parametrize(
    ("count", "pins"),
    [
        (3, True),  # under
        (4, True),  # at: counted over both families
        (5, False),  # over
    ],
)
def test_resolver_bounds_the_answers_of_both_families_together(count, pins):
    addresses = tuple(f"93.184.216.{n}" for n in range(1, count))
    with lying_names(zone(Says(answers=addresses), Says(answers=(IPV6,)))) as names:
        if pins:
            assert len(pinned(names, limits=replace(LIMITS, dns_answers_max=4)).addresses) == count
        else:
            with pytest.raises(DnsFailure):
                pinned(names, limits=replace(LIMITS, dns_answers_max=4))


@pytest.mark.parametrize(
    ("a", "code", "reason"),
    [
        (Says(rcode="NXDOMAIN"), "NXDOMAIN", "no_such_name"),
        (Says(), "NOERROR", "no_addresses"),
        (Says(rcode="SERVFAIL"), "SERVFAIL", "no_proper_answer"),
        (Says(rcode="NXDOMAIN", answers=(IPV4,)), "NXDOMAIN", "no_such_name"),
        (Says(manner="refusing_tcp"), "unreachable", "no_proper_answer"),
        (Says(answers=(IPV4,), manner="torn"), "malformed", "no_proper_answer"),
    ],
)
def test_resolver_fails_by_type_when_no_family_gives_an_address(a, code, reason):
    record = Lookup()
    with lying_names(zone(a)) as names, pytest.raises(DnsFailure) as failed:
        pinned(names, record=record)

    assert (record.dns["A"], failed.value.facts["reason"]) == (code, reason)


def test_resolver_asks_over_tcp_when_the_answer_is_cut():
    with lying_names(zone(Says(answers=(IPV4,), manner="cut"))) as names:
        assert [str(address) for address in pinned(names).addresses] == [IPV4]
    assert [way for _, family, way in names.asked if family == "A"] == ["udp", "tcp"]


def test_resolver_waits_for_the_true_answer_when_a_forged_one_is_first_cve_2023_29483():
    with lying_names(zone(Says(answers=(IPV4,), manner="junk_then_truth"))) as names:
        assert [str(address) for address in pinned(names).addresses] == [IPV4]


@pytest.mark.parametrize("manner", ["other_id", "other_name"])
def test_resolver_ignores_an_answer_to_another_question(manner):
    record = Lookup()
    with lying_names(zone(Says(answers=(IPV4,), manner=manner))) as names, pytest.raises(RequestTimeout):
        pinned(names, deadline=Deadline.after(0.4), record=record)
    assert record.addresses == ()


def test_resolver_counts_a_late_answer_to_its_first_query():
    late = Says(answers=(IPV4,), delay_seconds=1.8)  # after the second query left
    with lying_names(zone((late, Says(manner="silent")))) as names:
        assert [str(address) for address in pinned(names).addresses] == [IPV4]
    assert names.count("A") == 2


def test_resolver_times_out_at_the_deadline_of_the_call():
    record = Lookup()
    with lying_names(zone(Says(manner="silent"), Says(manner="silent"))) as names, pytest.raises(RequestTimeout):
        pinned(names, deadline=Deadline.after(0.3), record=record)
    assert record.dns == {"AAAA": "unfinished", "A": "unfinished"}


def test_resolver_gives_up_by_itself_when_dns_is_silent_and_the_call_has_time():
    record = Lookup()
    started = monotonic()
    silent = zone(Says(manner="silent"), Says(manner="silent"))
    with lying_names(silent) as names, pytest.raises(DnsFailure) as failed:
        pinned(names, deadline=Deadline.after(60), record=record)

    assert record.dns == {"AAAA": "timeout", "A": "timeout"}
    assert failed.value.facts["reason"] == "timeout"
    assert monotonic() - started < 30  # far below the call's own deadline


def test_resolver_stops_when_the_call_is_cancelled_m127():
    taken_back = threading.Event()
    deadline = Deadline.after(60, cancelled=taken_back.is_set)
    with lying_names(zone(Says(manner="silent"), Says(manner="silent"))) as names:
        threading.Thread(target=lambda: (names.was_asked.wait(10), taken_back.set())).start()
        with pytest.raises(Cancelled):
            pinned(names, deadline=deadline)


def test_resolver_asks_the_next_server_when_the_first_is_not_there():
    with lying_names(PUBLIC) as names:
        pin = Resolver(("127.0.0.2", "127.0.0.1"), names.port).pin(PLACE, LIMITS, Deadline.after(20), Lookup())

    assert len(pin.addresses) == 2
    assert names.count("A") == names.count("AAAA") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 on its loopback")
@pytest.mark.parametrize("first", [Says(rcode="SERVFAIL"), Says(rcode="REFUSED"), Says(manner="refusing_tcp")])
def test_resolver_asks_the_next_server_when_the_first_cannot_say(first):
    with lying_names(zone(first, first)) as bad, lying_names(PUBLIC, address="127.0.0.2", port=bad.port) as good:
        pin = Resolver(("127.0.0.1", "127.0.0.2"), bad.port).pin(PLACE, LIMITS, Deadline.after(20), Lookup())

    assert len(pin.addresses) == 2
    assert {way for _, _, way in good.asked} == {"udp"}


def test_resolver_fails_at_once_when_nobody_listens():
    record = Lookup()
    with closed_port() as port, pytest.raises(DnsFailure):
        Resolver(("127.0.0.1",), port).pin(PLACE, LIMITS, Deadline.after(20), record)
    assert record.dns == {"AAAA": "unreachable", "A": "unreachable"}


def test_resolver_reads_the_system_file_again_when_it_changed(tmp_path):
    system = tmp_path / "resolv.conf"
    with lying_names(PUBLIC) as names:
        resolver = Resolver(port=names.port, resolv_conf=str(system))
        with pytest.raises(DnsFailure) as failed:
            resolver.pin(PLACE, LIMITS, Deadline.after(20), Lookup())
        system.write_text("search corp.example\nnameserver 127.0.0.1\n")
        pin = resolver.pin(PLACE, LIMITS, Deadline.after(20), Lookup())
        system.write_text("# nobody\n")
        with pytest.raises(DnsFailure):
            resolver.pin(PLACE, LIMITS, Deadline.after(20), Lookup())

    assert failed.value.facts["reason"] == "no_nameserver"
    assert pin.addresses
    assert {name for name, _, _ in names.asked} == {HOST}  # the search domain is never used
