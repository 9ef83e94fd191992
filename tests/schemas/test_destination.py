"""Destinations: every way of writing a place comes to one spelling, or to a typed refusal."""

import pickle
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.destination import Destination
from schemas.errors import CredentialsInUrl, InvalidUrl, OutriderError, UnsupportedScheme

BASE = Destination.parse("https://example.com/dir/page?z=1")


def test_destination_holds_every_part_when_the_url_is_plain():
    place = Destination.parse("HTTPS://Bücher.Example:8443/a b?q=ü#part")

    assert place.href == "https://xn--bcher-kva.example:8443/a%20b?q=%C3%BC"
    assert (place.scheme, place.host, place.port, place.literal) == ("https", "xn--bcher-kva.example", 8443, None)
    assert place.origin() == "https://xn--bcher-kva.example:8443"
    assert place.request_target() == "/a%20b?q=%C3%BC"
    assert place.query() == "q=%C3%BC"
    assert len(place.href_sha256()) == 64


@pytest.mark.parametrize(
    ("url", "host", "literal", "origin"),
    [
        ("http://134744072/", "8.8.8.8", IPv4Address("8.8.8.8"), "http://8.8.8.8"),
        (
            "http://[2606:4700:0:0::1111]/",
            "2606:4700::1111",
            IPv6Address("2606:4700::1111"),
            "http://[2606:4700::1111]",
        ),
        ("http://[2606:4700::1]:81/", "2606:4700::1", IPv6Address("2606:4700::1"), "http://[2606:4700::1]:81"),
    ],
)
def test_destination_reads_an_address_when_the_host_is_one(url, host, literal, origin):
    place = Destination.parse(url)

    assert (place.host, place.literal, place.origin()) == (host, literal, origin)
    assert place.request_target() == "/"


def test_destination_keeps_its_fragment_apart_when_it_has_one():
    place, other = Destination.parse("https://example.com/x?q#a b"), Destination.parse("https://example.com/x?q")

    assert (place.href, place.fragment, other.fragment) == ("https://example.com/x?q", "a%20b", "")
    assert (place, place.href_sha256(), repr(place)) == (other, other.href_sha256(), repr(other))


def test_destination_keeps_one_trailing_dot_in_the_host_and_drops_it_in_the_name():
    place = Destination.parse("https://example.com./x")

    assert (place.host, place.name, place.href) == ("example.com.", "example.com", "https://example.com./x")


@pytest.mark.parametrize(
    ("reference", "href"),
    [
        ("/p", "https://example.com/p"),
        ("p", "https://example.com/dir/p"),
        ("?q", "https://example.com/dir/page?q"),
        ("#only", "https://example.com/dir/page?z=1"),
        ("//other.example/x", "https://other.example/x"),
        ("https:/evil.example", "https://example.com/evil.example"),
        ("http:/evil.example", "http://evil.example/"),
    ],
)
def test_destination_reads_a_reference_against_its_base(reference, href):
    assert Destination.parse(reference, base=BASE).href == href


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("javascript:alert(1)", UnsupportedScheme),
        ("https://user:pass@example.com/", CredentialsInUrl),
        ("https://exa\ud800mple.com/", InvalidUrl),
        ("https://example.com/\x85", InvalidUrl),
        ("\nhttps://example.com/", InvalidUrl),
        ("https://example.com/\t", InvalidUrl),
        ("relative", InvalidUrl),
    ],
)
def test_destination_is_refused_by_type_when_the_url_is_bad(url, error):
    with pytest.raises(error) as refused:
        Destination.parse(url)
    assert "example" not in refused.value.message


@pytest.mark.parametrize(
    ("label_octets", "parses"),
    [
        (62, True),  # under
        (63, True),  # at: RFC 1035 section 2.3.4
        (64, False),  # over
    ],
)
def test_destination_bounds_a_label(label_octets, parses):
    assert _parses(f"https://{'a' * label_octets}.example/") is parses


@pytest.mark.parametrize(
    ("name_octets", "parses"),
    [
        (252, True),  # under
        (253, True),  # at: 255 on the wire
        (254, False),  # over
    ],
)
@pytest.mark.parametrize("dot", ["", "."])
def test_destination_bounds_a_name(name_octets, parses, dot):
    name = ".".join(["a" * 49] * 5) + "." + "b" * (name_octets - 250)

    assert len(name) == name_octets
    assert _parses(f"https://{name}{dot}/") is parses


def test_destination_survives_a_pickle():
    assert pickle.loads(pickle.dumps(BASE)) == BASE  # noqa: S301 - our own bytes


@given(st.text() | st.text(alphabet="htps:/\\@.?#[]%0127fx- \t\u3002é").map(lambda text: f"http://{text}"))
def test_destination_parse_raises_only_typed_errors_on_any_text(text):
    try:
        place = Destination.parse(text)
    except OutriderError:
        return
    assert place.href.isascii()
    assert place.href == place.origin() + place.request_target()
    assert Destination.parse(place.href) == place


def _parses(url):
    try:
        Destination.parse(url)
    except InvalidUrl:
        return False
    return True
