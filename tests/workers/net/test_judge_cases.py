"""The recorded URL and address cases, through the product's own functions (X5, M104, M105, M128)."""

import pytest

from schemas.destination import Destination
from schemas.errors import OutriderError
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from workers.net.judge import judge_literal, judge_place

CODES = {
    "scheme": "unsupported_scheme",
    "port": "unsupported_port",
    "credentials": "credentials_in_url",
    "local_name": "blocked_address",
    "non_public_address": "blocked_address",
    "invalid_url": "invalid_url",
    "host_syntax": "invalid_url",
    "control_char": "invalid_url",
}

# M53, M105: the profile takes the scheme's own port alone; see ops/decisions/0002-case-choices.md.
REFUSED_BY_CHOICE = {"url-042": "unsupported_port", "url-043": "unsupported_port"}


@pytest.mark.parametrize("case", cases("url"))
def test_judge_agrees_with_the_url_case(case):
    code, place = _judged(case["input"])

    if case["id"] in REFUSED_BY_CHOICE:
        assert case["policy"] == "either"
        assert code == REFUSED_BY_CHOICE[case["id"]]
    elif case["expect"] == "reject":
        assert code == CODES[case["reason"]]
    else:
        right = case["canonical"]
        assert code is None
        assert place.href == right["href"].partition("#")[0]
        assert (place.scheme, place.host, place.port) == (right["scheme"], right["host"].strip("[]"), right["port"])


@pytest.mark.parametrize("case", cases("address"))
def test_judge_agrees_with_the_address_case(case):
    verdict = judge_literal(case["input"])

    assert verdict.public is (case["expect"] == "public"), verdict.reason


def _judged(url):
    try:
        place = Destination.parse(url)
        judge_place(place, WEB_FETCH.limits)
    except OutriderError as error:
        return error.code, None
    return None, place
