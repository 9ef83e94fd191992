"""Behind a proxy that speaks https (OUTRIDER_ADMIN_URL): cookies that never travel without it, and no way back."""

import re

import pytest
import requests

from tests.ops.admin.conftest import Admin, serving
from tests.ops.admin.test_login import LOGIN, SETTINGS, proof_in

HOST = "outrider.example"
SECURE = r"HttpOnly; Path=/; SameSite=strict; Secure"


@pytest.fixture(scope="module")
def secure_port(migrated_url, tmp_path_factory):
    with serving(migrated_url, tmp_path_factory.mktemp("https"), OUTRIDER_ADMIN_URL=f"https://{HOST}/") as port:
        yield port


@pytest.fixture
def proxied(secure_port, ledger):
    """Requests as a proxy on this machine passes them on, with the host that the person typed."""
    with requests.Session() as session:
        session.headers["Host"] = HOST
        yield Admin(secure_port, session)


def cookie_of(answer: requests.Response, name: str) -> str:
    """The whole Set-Cookie line of that name."""
    [line] = [line for line in answer.raw.headers.getlist("Set-Cookie") if line.startswith(f"{name}=")]
    return line


def log_in(proxied: Admin, token: str) -> requests.Response:
    form = proxied.ask("GET", LOGIN)
    door = cookie_of(form, "__Host-outrider_door").partition(";")[0]
    data = {"csrf": proof_in(form, LOGIN), "token": token}
    return proxied.ask("POST", LOGIN, data=data, headers={"Cookie": door, "Sec-Fetch-Site": "same-origin"})


def test_cookies_are_for_https_and_this_host_alone(proxied, manager):
    """RFC 6265bis 4.1.3: the prefix wants Secure, Path=/ and no Domain, so no neighbour can plant one."""
    form = proxied.ask("GET", LOGIN)
    assert re.fullmatch(rf"__Host-outrider_door=[\w-]{{43}}; {SECURE}", cookie_of(form, "__Host-outrider_door"))
    answer = log_in(proxied, manager)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/")
    assert re.fullmatch(rf"__Host-outrider_visit=[\w-]{{43}}; {SECURE}", cookie_of(answer, "__Host-outrider_visit"))
    assert "Max-Age=0" in cookie_of(answer, "__Host-outrider_door")


def test_cookie_without_the_prefix_opens_nothing(proxied, manager):
    """The right secret under the name that a neighbour could set is none; under the prefix it opens the page."""
    secret = cookie_of(log_in(proxied, manager), "__Host-outrider_visit").partition(";")[0].partition("=")[2]
    planted = proxied.ask("GET", SETTINGS, headers={"Cookie": f"outrider_visit={secret}"})
    assert (planted.status_code, planted.headers["Location"]) == (303, LOGIN)
    assert proxied.ask("GET", SETTINGS, headers={"Cookie": f"__Host-outrider_visit={secret}"}).status_code == 200


def test_log_out_takes_the_secure_cookie_away(proxied, manager):
    visit = cookie_of(log_in(proxied, manager), "__Host-outrider_visit").partition(";")[0]
    page = proxied.ask("GET", SETTINGS, headers={"Cookie": visit})
    data = {"csrf": proof_in(page, "/admin/logout")}
    left = proxied.ask("POST", "/admin/logout", data=data, headers={"Cookie": visit})
    gone = cookie_of(left, "__Host-outrider_visit")
    assert all(word in gone for word in ("Max-Age=0", "Path=/", "Secure"))  # without them a browser ignores it
    assert proxied.ask("GET", SETTINGS, headers={"Cookie": visit}).status_code == 303


@pytest.mark.parametrize("path", [LOGIN, "/api/nowhere", "/static/admin.css"])
def test_browser_is_told_never_to_come_by_http(proxied, admin, path):
    """HSTS, on errors too; over plain http on loopback it is not said, since browsers must ignore it there."""
    assert proxied.ask("GET", path).headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in admin.ask("GET", path).headers


@pytest.mark.parametrize("host", ["evil.example", f"x.{HOST}", f"{HOST}.evil.example"])
def test_other_host_than_the_told_one_gets_nothing(proxied, host):
    assert proxied.ask("GET", LOGIN, headers={"Host": host}).status_code == 400
