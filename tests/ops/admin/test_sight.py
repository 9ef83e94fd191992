"""Foreign text in plain sight: nothing is lost, and nothing hides."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.admin.pages.sight import in_plain_sight, stretches
from schemas.selector import Span

TEXTS = st.text(max_size=60)
HIDDEN = (
    *("\x00", "\x07", "\x1b", "\r", "\x7f", "\x85", "\xad", "\u200b", "\u200e", "\u2028", "\u202e", "\u2066"),
    *("\ufeff", "\ufff9", "\U000e0041", "\ue000", "\uffff"),
)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), max_size=5))
def test_stretches_are_the_whole_text_and_mark_each_quote_whole(text, places):
    quotes = {
        number: Span(start, min(start + size, len(text)))
        for number, (start, size) in enumerate(places)
        if start < len(text)
    }
    found = stretches(text, quotes)
    assert "".join(one.text for one in found) == text
    for number, span in quotes.items():
        assert "".join(one.text for one in found if number in one.quotes) == text[span.start : span.end]
        assert sum(number in one.begins for one in found) == 1


@given(TEXTS)
def test_text_is_escaped_and_can_be_read_back(text):
    shown = str(in_plain_sight(text))
    signs = re.compile(r'<span class="hidden-sign">U\+([0-9A-F]{4,6})</span>')
    assert "<" not in signs.sub("", shown)
    parts = signs.split(shown)
    read = "".join(chr(int(one, 16)) if place % 2 else unescape(one) for place, one in enumerate(parts))
    assert read == text


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_hides_or_turns_is_written_out(hidden):
    """Controls, bidirectional overrides and isolates, zero widths, tags, private use, noncharacters."""
    assert str(in_plain_sight(f"a{hidden}b")) == f'a<span class="hidden-sign">U+{ord(hidden):04X}</span>b'


@pytest.mark.parametrize("seen", ["\n", "\t", "\u200c", "\u200d", "\xa0", "\u3000", "\u0301", "\u05d0", "\U0001f319"])
def test_what_words_are_made_of_is_left(seen):
    assert str(in_plain_sight(seen)) == seen
