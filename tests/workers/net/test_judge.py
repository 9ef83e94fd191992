"""The judge: ports, names, literals, and what a refusal says (M53, M105, M128, X14)."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

import pytest

from schemas.destination import Destination
from schemas.errors import AddressRefused, SecretInUrl, UnsupportedPort
from schemas.profiles import WEB_FETCH
from workers.net.judge import judge_address, judge_place

LIMITS = WEB_FETCH.limits
ANY_PORT = replace(LIMITS, ports="any")


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST.", "a.localhost", "box.local", "db.internal.", "metadata.goog", "x.metadata.goog",
        "nas.home", "nas.home.arpa", "router.lan", "wiki.corp", "intranet", "a.localdomain", "metadata", "x.onion",
        "instance-data", "instance-data.ec2.internal", "kubernetes.default.svc.cluster.local", "\u24dbocalhost", "com.",
        "\uff4detadata.google.internal", "ipv4only.arpa", "x.test", "x.invalid",
    ],
)  # fmt: skip
def test_judge_refuses_a_name_of_no_public_network(host):
    with pytest.raises(AddressRefused, match=r"^The host is not a public destination\.$"):
        judge_place(Destination.parse(f"https://{host}/"), LIMITS)


@pytest.mark.parametrize(
    "host", ["good.example", "local.example.com", "internal-tools.dev", "mail.example.com", "a.lol"]
)
def test_judge_lets_a_public_name_pass(host):
    place = Destination.parse(f"https://{host}/")

    judge_place(place, LIMITS)

    assert (place.host, place.literal) == (host, None)  # what passed is that name and no address in disguise


@pytest.mark.parametrize(
    ("url", "limits", "passes"),
    [
        ("http://example.com:80/", LIMITS, True),
        ("http://example.com:79/", LIMITS, False),  # under
        ("http://example.com:81/", LIMITS, False),  # over
        ("http://example.com:443/", LIMITS, False),  # another scheme's own
        ("https://example.com:443/", LIMITS, True),
        ("https://example.com:8443/", LIMITS, False),
        ("https://example.com:8443/", ANY_PORT, True),
        ("https://example.com:65535/", ANY_PORT, True),
        ("https://example.com:0/", ANY_PORT, False),  # no port at all
    ],
)
def test_judge_lets_the_ports_of_the_profile_pass(url, limits, passes):
    place = Destination.parse(url)
    if passes:
        judge_place(place, limits)
        return
    with pytest.raises(UnsupportedPort):
        judge_place(place, limits)


def test_judge_refuses_a_secret_parameter_without_repeating_it():
    with pytest.raises(SecretInUrl) as refused:
        judge_place(Destination.parse("https://example.com/?token=hunter2"), LIMITS)
    assert "hunter2" not in f"{refused.value} {refused.value.facts}"


@pytest.mark.parametrize(
    ("address", "reason", "diagnosis"),
    [
        ("198.18.0.7", "benchmarking", "fake_ip_dns"),
        ("198.20.0.0", "public", None),
        ("64:ff9b::8.8.8.8", "NAT64 well-known of 8.8.8.8 (public)", "dns64"),
        ("64:ff9b::10.0.0.1", "NAT64 well-known of 10.0.0.1 (private)", None),  # no DNS64 makes this one
        ("64:ff9b:1:808:8:800::", "NAT64 local-use of 8.8.8.8 (public)", "dns64"),
        ("::ffff:8.8.8.8", "IPv4-mapped of 8.8.8.8 (public)", None),
        ("::", "unspecified", None),
        ("::1", "loopback", None),
        ("::2", "IPv4-compatible of 0.0.0.2 (this network)", None),
        ("2606:4700::5efe:10.0.0.1", "ISATAP of 10.0.0.1 (private)", None),
        ("2606:4700::200:5efe:8.8.8.8", "ISATAP of 8.8.8.8 (public)", None),
        ("4000::1", "unallocated", None),
        ("168.63.129.16", "Azure WireServer", None),
        ("fe80::1%eth0", "zone id", None),
        ("2606:4700::1%eth0", "zone id", None),
    ],
)
def test_judge_names_the_registry_and_the_diagnosis(address, reason, diagnosis):
    parsed = IPv6Address(address) if ":" in address else IPv4Address(address)

    verdict = judge_address(parsed)

    assert (verdict.reason, verdict.diagnosis) == (reason, diagnosis)
    assert verdict.public is (reason == "public")
