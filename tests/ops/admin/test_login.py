"""Logging in: the cookie, the form's proof, and how guessing is slowed."""

import re

import pytest
import requests

from ops.admin.throttle import ADDRESSES_MAX, FREE_TRIES, LONGEST_PAUSE_SECONDS, Throttle
from schemas.grants import MANAGE
from tests.ledger_calls import run_sql

LOGIN = "/admin/login"
SETTINGS = "/admin/projects/X/web-search"


def proof_in(answer: requests.Response, action: str) -> str:
    """The proof of the form on a page that goes there."""
    return re.search(rf'action="{action}".*?name="csrf" value="([0-9a-f]{{64}})"', answer.text, re.DOTALL)[1]


def log_in(admin, token: str, **more) -> requests.Response:
    csrf = proof_in(admin.ask("GET", LOGIN), LOGIN)
    return admin.ask("POST", LOGIN, data={"csrf": csrf, "token": token}, **more)


def test_cookie_is_httponly_strict_and_not_the_token(admin, manager, ledger):
    answer = log_in(admin, manager)
    [cookie] = [value for value in answer.raw.headers.getlist("Set-Cookie") if value.startswith("outrider_visit=")]
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/")
    assert re.fullmatch(r"outrider_visit=[A-Za-z0-9_-]{43}; HttpOnly; Path=/; SameSite=strict", cookie)
    assert manager not in cookie
    assert cookie[15:58] not in str(run_sql(ledger, "TABLE visits"))


@pytest.mark.parametrize(
    "planted",
    [b'"' + rb"\012" * 43 + b'"', b'"' + rb"\073" * 43 + b'"', "é".encode("latin-1") * 43, b"a" * 42, b"a" * 44],
    ids=["newlines", "semicolons", "not-ascii", "under", "over"],
)
def test_cookie_that_was_never_given_out_is_not_given_back(admin, planted):
    """A secret is 43 letters of base64url: anything else that a neighbour plants is replaced, not echoed."""
    answer = admin.ask("GET", LOGIN, headers={"Cookie": b"outrider_door=" + planted})
    [cookie] = answer.raw.headers.getlist("Set-Cookie")
    assert answer.status_code == 200
    assert re.fullmatch(r"outrider_door=[A-Za-z0-9_-]{43}; HttpOnly; Path=/; SameSite=strict", cookie)


def test_log_in_is_a_new_visit_each_time(admin, manager):
    """A cookie that was planted before the log-in is worth nothing after it."""
    admin._session.cookies.set("outrider_visit", "a" * 43)
    first = log_in(admin, manager).cookies["outrider_visit"]
    second = log_in(admin, manager).cookies["outrider_visit"]
    assert len({first, second, "a" * 43}) == 3


def test_wrong_token_is_401_and_opens_nothing(admin, manager):
    answer = log_in(admin, manager + "x")
    assert answer.status_code == 401
    assert "outrider_visit" not in answer.cookies
    assert admin.ask("GET", SETTINGS).headers["Location"] == LOGIN


@pytest.mark.parametrize(
    ("spoiled", "headers"),
    [
        pytest.param({"csrf": None}, {}, id="no-proof"),
        pytest.param({"csrf": "0" * 64}, {}, id="made-up-proof"),
        pytest.param({"csrf": "é"}, {}, id="not-ascii"),
        pytest.param({}, {"Sec-Fetch-Site": "cross-site"}, id="from-another-site"),
        pytest.param({}, {"Sec-Fetch-Site": "same-site"}, id="from-a-neighbour"),
    ],
)
def test_form_of_another_site_is_refused(admin, manager, ledger, spoiled, headers):
    """Settings are not saved, with a valid cookie and a form that we did not give out to it."""
    log_in(admin, manager)
    page = admin.ask("GET", SETTINGS)
    data = {"csrf": proof_in(page, SETTINGS), "generation": "0", "enabled": "true"} | spoiled
    assert admin.ask("POST", SETTINGS, data=data, headers=headers).status_code in {403, 422}
    assert run_sql(ledger, "TABLE projects") == []


def test_proof_is_good_for_its_own_place_and_visit_alone(admin, manager, ledger):
    log_in(admin, manager)
    other = proof_in(admin.ask("GET", SETTINGS), "/admin/logout")
    old = proof_in(admin.ask("GET", SETTINGS), SETTINGS)
    assert admin.ask("POST", SETTINGS, data={"csrf": other, "generation": "0"}).status_code == 403
    log_in(admin, manager)
    assert admin.ask("POST", SETTINGS, data={"csrf": old, "generation": "0"}).status_code == 403
    fresh = proof_in(admin.ask("GET", SETTINGS), SETTINGS)
    assert admin.ask("POST", SETTINGS, data={"csrf": fresh, "generation": "0"}).status_code == 303
    assert len(run_sql(ledger, "TABLE projects")) == 1


def test_guessing_is_slowed(admin, make_token):
    """The free tries, and then 429 with the time to wait, for the right token too; the API is not locked by it."""
    log_in(admin, make_token(MANAGE))  # the address begins anew
    statuses = [log_in(admin, f"outrider_guess{n}").status_code for n in range(FREE_TRIES)]
    assert statuses == [401] * FREE_TRIES
    right = make_token(MANAGE, name="bob")
    slowed = log_in(admin, right)
    assert (slowed.status_code, "outrider_visit" in slowed.cookies) == (429, False)
    assert int(slowed.headers["Retry-After"]) >= 1
    assert admin.api("GET", "X/web-search", right).status_code == 200


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_double_up_to_the_longest():
    clock = Clock()
    throttle = Throttle(clock)
    assert [throttle.begin("a") for _ in range(FREE_TRIES)] == [0.0] * FREE_TRIES
    pauses = []
    for _ in range(9):
        pauses.append(throttle.begin("a"))
        clock.now += pauses[-1]
        assert throttle.begin("a") == 0.0
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, *[LONGEST_PAUSE_SECONDS] * 3]


def test_another_address_and_a_success_begin_anew():
    throttle = Throttle(Clock())
    for _ in range(FREE_TRIES):
        throttle.begin("a")
    assert throttle.begin("a") > 0
    assert throttle.begin("b") == 0.0
    throttle.forget("a")
    assert throttle.begin("a") == 0.0


def test_memory_of_addresses_is_bounded():
    throttle = Throttle(Clock())
    for number in range(ADDRESSES_MAX + 10):
        throttle.begin(str(number))
    assert len(throttle._tries) == ADDRESSES_MAX
