"""The sieve: what is paid for, unsafe, elsewhere or there already is left out, in the provider's order."""

import pytest

from schemas.profiles import WEB_SEARCH
from workers.search.provider import Hit
from workers.search.sift import belongs, sift

GOOD = "https://good.example/"


def urls(*links: str, site: str | None = None, count: int = 10) -> list[str]:
    hits = [Hit(f"title {number}", link, "") for number, link in enumerate(links)]
    return [kept.url for kept in sift(hits, site=site, limits=WEB_SEARCH.limits, count=count)]


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("javascript:alert(1)", id="M95-javascript"),
        pytest.param("data:text/html,x", id="M95-data"),
        pytest.param("ftp://files.example/", id="M95-ftp"),
        pytest.param("http://10.0.0.1/", id="M95-private"),
        pytest.param("http://[::ffff:127.0.0.1]/", id="M95-mapped"),
        pytest.param("http://169.254.169.254/latest/", id="M95-metadata"),
        pytest.param("http://0x7f.1/", id="M95-disguised"),
        pytest.param("http://localhost/", id="M95-localhost"),
        pytest.param("http://intranet/", id="M95-single-label"),
        pytest.param("https://user:word@good.example/", id="M95-credentials"),
        pytest.param("https://good.example/?access_token=abc", id="M95-secret"),
        pytest.param("https://good.example:8443/", id="M95-port"),
        pytest.param("https://good.example/a\nb", id="M95-control"),
        pytest.param(f"https://good.example/{'x' * 4_100}", id="M95-too-long-to-fetch"),
        pytest.param("/relative", id="M95-relative"),
        pytest.param("", id="M95-none"),
        pytest.param("https://duckduckgo.com/y.js?ad_domain=x", id="M93-y.js"),
        pytest.param("https://links.duckduckgo.com/y.js?u3=x", id="M93-subdomain"),
        pytest.param("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fgood.example", id="M93-second-redirect-link"),
        pytest.param("https://www.bing.com/aclick?ld=x", id="M93-bing"),
        pytest.param("https://ad.doubleclick.net/ddm", id="M93-doubleclick"),
    ],
)
def test_link_is_left_out(link: str) -> None:
    """M93, M95"""
    assert urls(link, GOOD) == [GOOD]


@pytest.mark.parametrize(
    "link",
    [
        "https://duckduckgo.com/about",
        "https://notdoubleclick.net/",
        "http://good.example/",
        "https://good.example/#part",
    ],
)
def test_link_is_kept(link: str) -> None:
    assert urls(link) == [link]


def test_duplicates_are_told_by_their_canonical_place() -> None:
    """M94: case of the host, default port, dot segments and the fragment make no other place."""
    same = ["https://GOOD.example:443/", "https://good.example", "https://good.example/a/..", "https://good.example/#x"]
    assert urls(GOOD, *same, "http://good.example/") == [GOOD, "http://good.example/"]


@pytest.mark.parametrize(
    ("host", "within"),
    [
        ("postgresql.org", True),
        ("www.postgresql.org", True),
        ("POSTGRESQL.org.", True),
        ("evilpostgresql.org", False),
        ("postgresql.org.evil.example", False),
        ("postgresql.com", False),
        ("org", False),
    ],
)
def test_site_is_enforced_on_the_host(host: str, *, within: bool) -> None:
    """M87"""
    assert bool(urls(f"https://{host}/x", site="postgresql.org")) is within


def test_site_of_another_script_is_compared_as_it_is_sent() -> None:
    """M87: IDNA; a look-alike is another name."""
    site = "xn--bcher-kva.example"
    assert len(urls("https://bücher.example/", "https://xn--bcher-kva.example/b", site=site)) == 2
    assert urls("https://bu\u0308cher.example/", site=site) == ["https://xn--bcher-kva.example/"]
    assert urls("https://bùcher.example/", "https://bucher.example/", site=site) == []


@pytest.mark.parametrize("count", [1, 9, 10])
def test_first_ones_are_kept_up_to_the_count(count: int) -> None:
    """M85, M96"""
    links = [f"https://good.example/{number}" for number in range(20)]
    assert urls(*links, count=count) == links[:count]


def test_title_is_the_host_where_there_is_none() -> None:
    (kept,) = sift([Hit("", GOOD, "s")], site=None, limits=WEB_SEARCH.limits, count=1)
    assert (kept.title, kept.snippet) == ("good.example", "s")


def test_belonging_needs_a_dot_between() -> None:
    assert belongs("a.b.example", "b.example")
    assert not belongs("ab.example", "b.example")
