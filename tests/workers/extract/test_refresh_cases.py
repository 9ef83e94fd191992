"""A page's wish to send its reader on is a fact, never a step (the recorded meta_refresh cases)."""

from base64 import b64decode

import pytest

from schemas.destination import Destination
from schemas.errors import OutriderError
from schemas.profiles import WEB_FETCH
from tests.workers.extract.reading import SENTENCE, body_cases, read
from workers.extract.guard import tame
from workers.extract.head import parse, read_head
from workers.net.judge import judge_literal, judge_place


@pytest.mark.parametrize("case", body_cases("meta_refresh"))
def test_refresh_agrees_with_the_case(case):
    root, _ = parse(tame(b64decode(case["input"]["body_b64"])))

    target = read_head(root, b"", case["input"]["base"]).refresh if root is not None else ""

    if not case["expect"].startswith("reject:"):
        assert target == ("" if case["expect"] == "none" else case["expect"])
    elif case["expect"] == "reject:downgrade":
        assert target.startswith("http://")  # the redirect walk's rule refuses it, as for any https page
    else:
        assert target
        with pytest.raises(OutriderError):
            _judged(target)


def _judged(target: str) -> None:
    place = Destination.parse(target)
    judge_place(place, WEB_FETCH.limits)
    judge_literal(place)


def test_refresh_is_reported_as_a_note_and_its_target_is_no_link():
    document = read(f'<meta http-equiv="refresh" content="0; url=/elsewhere"><p>{SENTENCE}')

    assert document.notes == ("meta_refresh",)
    assert document.links == ()
