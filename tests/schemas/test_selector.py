"""Selectors: a quote leads to one place of its text, or nowhere (M76, X10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.selector import NotAnchored, Selector, Span, anchor, stored_form

TEXT = "A moon. The moon is \U0001f319 and grey.\n\nThe moon is far. Ünïcode."


@given(st.data())
def test_stored_form_leads_back_to_its_own_place(data: st.DataObject) -> None:
    """X10: any span of any text, re-anchored by what was stored of it; offsets are code points."""
    alphabet = st.sampled_from("ab \n\U0001f319é\u0301")  # few letters: quotes that stand in many places
    text = data.draw(st.text(alphabet, min_size=1, max_size=60))
    start = data.draw(st.integers(0, len(text) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(text))))
    quote, position = stored_form(text, span)
    again = Selector(**{name: quote[name] for name in ("exact", "prefix", "suffix")} | position_of(position))
    assert anchor(text, again) == span
    assert text[position["start"] : position["end"]] == quote["exact"]


@given(
    st.text(st.sampled_from("ab "), min_size=1, max_size=40), st.text(st.sampled_from("ab "), min_size=1, max_size=4)
)
def test_quote_without_a_position_is_taken_only_where_it_stands_once(text: str, exact: str) -> None:
    """M76: overlapping places count."""
    places = [start for start in range(len(text)) if text.startswith(exact, start)]
    if len(places) == 1:
        assert anchor(text, Selector(exact=exact)) == Span(places[0], places[0] + len(exact))
    elif places:
        with pytest.raises(NotAnchored, match="ambiguous"):
            anchor(text, Selector(exact=exact))


def position_of(position: dict[str, int]) -> dict[str, int]:
    return {name: position[name] for name in ("start", "end")}


@pytest.mark.parametrize(
    ("fields", "span"),
    [
        pytest.param({"exact": "A moon."}, (0, 7), id="once"),
        pytest.param({"exact": "The moon is", "suffix": " far"}, (33, 44), id="by-suffix"),
        pytest.param({"exact": "The moon is", "prefix": "A moon. "}, (8, 19), id="by-prefix"),
        pytest.param({"exact": "The moon is", "start": 33, "end": 44}, (33, 44), id="by-position-behind-an-astral"),
        pytest.param({"exact": "grey. The"}, (26, 36), id="other-white-space"),
        pytest.param({"exact": "Ünïcode."}, (50, 58), id="to-the-end"),
    ],
)
def test_quote_leads_to_its_place(fields: dict[str, object], span: tuple[int, int]) -> None:
    assert anchor(TEXT, Selector.model_validate(fields)) == Span(*span)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"exact": "The moon is"}, "ambiguous", id="twice"),
        pytest.param({"exact": "The sun"}, "absent", id="invented"),
        pytest.param({"exact": "the moon is far"}, "absent", id="other-case"),
        pytest.param({"exact": "The moon is", "suffix": " near"}, "absent", id="wrong-suffix"),
        pytest.param({"exact": "The moon is", "start": 9, "end": 20}, "conflict", id="off-by-one"),
        pytest.param({"exact": "A moon.", "start": 0, "end": 8}, "conflict", id="longer-position"),
        pytest.param({"exact": "The moon is", "start": 33, "end": 44, "suffix": " grey"}, "conflict", id="two-stories"),
        pytest.param({"exact": "A moon.", "start": 900, "end": 907}, "conflict", id="behind-the-end"),
        pytest.param({"exact": "   "}, "absent", id="white-space-alone"),
    ],
)
def test_quote_that_leads_nowhere_or_to_two_places_is_refused(fields: dict[str, object], why: str) -> None:
    """M76"""
    with pytest.raises(NotAnchored, match=why):
        anchor(TEXT, Selector.model_validate(fields))
