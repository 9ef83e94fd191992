"""The registries: every prefix of the data file, at its edges and at random inside it (X5)."""

import json
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.net.judge import judge_address
from workers.net.registries import AS_OF

FACTS = json.loads(files("workers.net").joinpath("address_registries.json").read_text("utf-8"))
ROWS = FACTS["ipv4"] + FACTS["ipv6"] + FACTS["hosts"]
CLOSED = [ip_network(row["prefix"]) for row in ROWS if row["globally_reachable"] is not True]
OPEN = [ip_network(row["prefix"]) for row in ROWS if row["globally_reachable"] is True]
FORMS = {row["name"]: ip_network(row["prefix"]) for row in FACTS["transition"]}
ALLOCATED = [ip_network(prefix) for prefix in FACTS["ipv6_allocated_unicast"]]
PRIVATE = [network for network in CLOSED if network.version == 4]


def _inside(network):
    return st.integers(int(network[0]), int(network[-1])).map(type(network[0]))


def _open(address):
    """Whether a longer open prefix holds an address, such as 192.0.0.9 in 192.0.0.0/24."""
    return any(address in network for network in OPEN if network.version == address.version)


def test_registries_state_their_date():
    assert AS_OF == FACTS["as_of"] >= "2025-10-09"


@pytest.mark.parametrize("network", CLOSED, ids=str)
def test_registries_refuse_both_edges_of_a_closed_prefix(network):
    assert not judge_address(network[0]).public
    assert not judge_address(network[-1]).public


@given(st.sampled_from(CLOSED).flatmap(_inside))
def test_registries_never_call_an_address_of_a_closed_prefix_public(address):
    assert _open(address) or not judge_address(address).public


@given(st.sampled_from(sorted(FORMS)), st.sampled_from(PRIVATE).flatmap(_inside), st.integers(0, 2**128 - 1))
def test_registries_refuse_every_form_that_carries_a_private_ipv4(name, inner, noise):
    row = next(row for row in FACTS["transition"] if row["name"] == name)
    network = FORMS[name]
    packed = bytearray((int(network[0]) | noise & int(network.hostmask)).to_bytes(16))
    carried = (int(inner) ^ int(row.get("xor", "0"), 16)).to_bytes(4)
    for place, octet in zip(row["ipv4_bytes"], carried, strict=True):
        packed[place] = octet
    address = IPv6Address(bytes(packed))

    assert not judge_address(address).public
    assert address in network
    assert str(inner) in judge_address(address).reason or int(address) <= 1


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_registries_refuse_ipv6_that_nobody_was_given(address):
    if not any(address in network for network in ALLOCATED):
        assert not judge_address(address).public


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_registries_call_ipv4_public_exactly_outside_the_closed_prefixes(address):
    closed = any(address in network for network in PRIVATE) and not _open(address)

    assert judge_address(address).public is not closed


@pytest.mark.parametrize("network", OPEN, ids=str)
def test_registries_let_a_reachable_prefix_pass_unless_it_is_a_transition_form(network):
    assert judge_address(network[0]).public is (network not in FORMS.values())


def test_registries_judge_by_the_longest_prefix():
    judged = {text: judge_address(ip_address(text)).public for text in ("192.0.0.8", "192.0.0.9", "192.0.0.11")}

    assert judged == {"192.0.0.8": False, "192.0.0.9": True, "192.0.0.11": False}
