"""DNS answers: no bytes from the network do more than make an answer malformed."""

import dns.message
import dns.rrset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.profiles import WEB_FETCH
from workers.net.answers import Answer, Question, read_reply

LIMITS = WEB_FETCH.limits
QUESTION = Question.of("good.example", "A")
QUERY_ID = 4711


def reply(*rows, flags=0, counts=None):
    message = dns.message.make_response(dns.message.from_wire(QUESTION.query(QUERY_ID)))
    message.answer = [dns.rrset.from_text(*row) for row in rows]
    message.flags |= flags
    wire = bytearray(message.to_wire())
    if counts is not None:
        wire[6:8] = counts.to_bytes(2)
    return bytes(wire)


GOOD = reply(("good.example.", 60, "IN", "CNAME", "b.example."), ("b.example.", 60, "IN", "A", "93.184.216.34"))


def test_answer_holds_chain_and_addresses_when_the_reply_is_whole():
    answer = read_reply(GOOD, QUESTION, QUERY_ID, LIMITS)

    assert (answer.code, [str(address) for address in answer.addresses]) == ("NOERROR", ["93.184.216.34"])
    assert answer.cname == ("b.example",)


@pytest.mark.parametrize(
    ("rows", "addresses"),
    [
        ([("other.example.", 60, "IN", "A", "93.184.216.34")], 0),  # an answer that nobody asked for
        ([("good.example.", 60, "IN", "AAAA", "2606::1")], 0),
        ([("good.example.", 60, "IN", "TXT", "x"), ("GOOD.example.", 60, "IN", "A", "93.184.216.34")], 1),
    ],
)
def test_answer_takes_the_asked_rows_alone(rows, addresses):
    assert len(read_reply(reply(*rows), QUESTION, QUERY_ID, LIMITS).addresses) == addresses


@pytest.mark.parametrize(
    ("count", "code"),
    [
        (71, "malformed"),  # under: counted as far as the octets go
        (72, "malformed"),  # at: 64 answers and 8 aliases
        (73, "too_many_answers"),  # over: not read at all
    ],
)
def test_answer_bounds_the_rows_before_it_reads_them(count, code):
    assert read_reply(reply(counts=count), QUESTION, QUERY_ID, LIMITS) == Answer(code=code)


def test_answer_is_none_when_the_reply_is_to_another_query():
    assert read_reply(GOOD, QUESTION, QUERY_ID + 1, LIMITS) is None
    assert read_reply(GOOD, Question.of("evil.example", "A"), QUERY_ID, LIMITS) is None
    assert read_reply(QUESTION.query(QUERY_ID), QUESTION, QUERY_ID, LIMITS) is None  # a query, not a reply


@given(st.binary(max_size=600))
def test_answer_is_typed_on_any_octets(octets):
    head = GOOD[:12] + QUESTION.wire

    assert read_reply(octets, QUESTION, QUERY_ID, LIMITS) is None or len(octets) < 12 or octets[:2] == GOOD[:2]
    assert isinstance(read_reply(head + octets, QUESTION, QUERY_ID, LIMITS), Answer)


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_answer_is_typed_when_one_octet_is_changed(place, octet):
    changed = bytearray(GOOD)
    changed[place] = octet

    assert isinstance(read_reply(bytes(changed), QUESTION, QUERY_ID, LIMITS), Answer | None)


@given(st.integers(0, len(GOOD) - 1))
def test_answer_never_has_addresses_when_the_reply_is_cut(ends):
    answer = read_reply(GOOD[:ends], QUESTION, QUERY_ID, LIMITS)

    assert answer is None or answer.addresses == ()
