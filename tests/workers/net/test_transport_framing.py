"""One reading of a response's frame (X6): what our head says and what libcurl did with the bytes must be one thing.

Every wire here ends with FIN. A row's verdict is RFC 9112's, or a refusal where it lets the recipient choose.
"""

import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import NetworkError, OutriderError, ResponseTooLarge, TruncatedBody
from tests.faults.servers import answer, hold_after, origin, wired
from tests.workers.net.transporting import LIMITS, exchange
from workers.net.trace import Trace

OK = b"HTTP/1.1 200 OK"
HELLO = b"hello"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"
TE = b"Transfer-Encoding: chunked"


def word_of(error: OutriderError) -> str:
    return str(error.facts.get("reason")) if isinstance(error, NetworkError) else error.code


def response(*lines: bytes, body: bytes = HELLO, status: bytes = OK) -> bytes:
    return b"\r\n".join([status, *lines, b"", body])


def seen_of(transport, port: int, **rest) -> tuple[str, bytes]:
    """The verdict with the body, or the error's word."""
    try:
        reply = exchange(transport, f"http://a.test:{port}/", **rest)
    except OutriderError as error:
        return word_of(error), b""
    return reply.completeness, reply.body


# RFC 9112 sections 5.1 (no whitespace before the colon), 5.2 (folds), 6.1 to 6.3 (what frames a body).
LENGTHS = [
    (b"Content-Length: 5", "complete"),
    (b"content-length:5", "complete"),
    (b"Content-Length:\t5 ", "complete"),
    (b"Content-Length: 005", "complete"),
    (b"Content-Length: 5, 5", "complete"),
    (b"Content-Length: 5\r\nContent-Length: 05", "complete"),
    (b"Content-Length:\r\n 5", "complete"),
    (b"Content-Length: 5\r\n ", "complete"),
    (b"Content-Length: 9", "truncated_body"),
    (b"Content-Length: 9, 9", "truncated_body"),
    (b"Content-Length:\r\n\t9", "truncated_body"),
    (b"Content-Length: 9223372036854775808", "response_too_large"),
    (b"Content-Length: " + b"9" * 5_000, "response_too_large"),
    (b"X: y\r\n Content-Length: 9", "close_delimited"),  # a fold is its field's value, whatever it holds
    (b" Content-Length: 9", "close_delimited"),  # before the first field: to be dropped (RFC 9112 section 2.2)
    *[
        (line, "protocol")
        for line in [
            *(b"Content-Length : 100000", b"Content-Length\t: 5", b"Content-Length \t : 5", b"Content-Length\x0b: 5"),
            *(b"Content-Length\0: 5", b"\rContent-Length: 5", b"\r", b"\r\r\nContent-Length: 3", b"\x0bX: y"),
            *(b"Content-Length: +5", b"Content-Length: -5", b"Content-Length: 5 5", b"Content-Length: 0x5"),
            *(b"Content-Length: ", b"Content-Length:", b"Content-Length: ,", b"Content-Length: 5,6"),
            *(b"Content-Length: 5,", b"Content-Length: 5;", b"Content-Length: 5\0", b"Content-Length: 5\x0b"),
            *(b"Content-Length: \xb2", b"Content-Length: 5\r", b"Content-Length: 5\rX: y", b"Content-Length: 1\r\n 0"),
            *(b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length", b"Content-Length;5", b": 5", b"X Y: z"),
            *(b"X-\xc3\xa4: y", b"X: a\0b"),
        ]
    ],
]
CODINGS = [
    (TE, "complete"),
    (b"transfer-encoding:CHUNKED\t", "complete"),
    (b"Transfer-Encoding:\r\n chunked", "complete"),
    (TE + b"\r\nContent-Length: 3", "complete"),  # body-022: the chunks win
    (b"Content-Length: 3\r\n" + TE, "complete"),
    (b"Transfer_Encoding: chunked", "close_delimited"),  # another field
    *[
        (line, "protocol")
        for line in [
            *(b"Transfer-Encoding : chunked", b"Transfer-Encoding\t: chunked", b"Transfer-Encoding\x0c: chunked"),
            *(TE + b", chunked", TE + b"\r\n" + TE, TE + b"\r", TE + b"\0", TE + b";q=1", TE + b" chunked"),
            *(b"Transfer-Encoding: gzip", b"Transfer-Encoding: gzip, chunked", TE + b", gzip", TE + b", identity"),
            *(b"Transfer-Encoding: identity", b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: "),
            *(b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chun\r\n ked", b"Transfer-Encoding: \x0bchunked"),
            *(TE + b"\r\nTransfer-Encoding: identity", b"Content-Length: 15\r\nTransfer-Encoding: identity"),
            *(TE + b"\r\nContent-Length: x", TE + b"\r\nContent-Length : 3"),
        ]
    ],
]
FRAMES = [(line, HELLO, word) for line, word in LENGTHS] + [(line, CHUNKS, word) for line, word in CODINGS]


@pytest.mark.parametrize(("line", "body", "word"), FRAMES, ids=[str(line)[:60] for line, _, _ in FRAMES])
def test_exchange_reads_a_frame_one_way_or_refuses_it_x6(transport, line, body, word):
    with origin(answer(response(line, body=body))) as server:
        seen, text = seen_of(transport, server.port)
    assert seen == word
    assert text in (HELLO, body if word == "close_delimited" else b"")
    assert (text == b"") == (word not in {"complete", "close_delimited"})


# RFC 9112 section 4: the status is three digits, the version is ours.
STATUSES = [
    *[(line, "complete") for line in [b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.0 200 OK", b"HTTP/1.1 200 \xe9"]],
    *[
        (line, "protocol")
        for line in [
            *(b"HTTP/1.1 2000 X", b"HTTP/1.1 200OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 +20 OK", b"HTTP/1.1 1000 X"),
            *(b"HTTP/1.1 099 X", b"HTTP/1.1 000 X", b"HTTP/1.1 \xb2\xb9\xb2 X", b"HTTP/1.1\t200 OK"),
            *(b"HTTP/1.1 200\tOK", b"HTTP/1.1  200 OK", b"HTTP/1.1 200 O\rK", b"HTTP/1.1 200 OK\0"),
            *(b"HTTP/3.0 200 OK", b"HTTP/2.0 200 OK", b"HTTP/2 200 OK", b"HTTP/1.2 200 OK", b"HTTP/1.10 200 OK"),
            *(b"HTTP/1 200 OK", b"http/1.1 200 OK", b" HTTP/1.1 200 OK", b"ICY 200 OK"),
        ]
    ],
]


@pytest.mark.parametrize(("status", "word"), STATUSES, ids=[str(line) for line, _ in STATUSES])
def test_exchange_takes_a_status_line_as_it_is_defined_or_refuses_it(transport, status, word):
    with origin(answer(response(b"Content-Length: 5", status=status))) as server:
        assert seen_of(transport, server.port)[0] == word


@pytest.mark.parametrize(
    ("wire", "word"),
    [
        (response(TE, body=CHUNKS, status=b"HTTP/1.0 200 OK"), "protocol"),  # RFC 9112 section 6.1
        (response(b"Content-Length: 5", status=b"HTTP/1.1 204 No"), "none"),
        (response(TE, body=CHUNKS, status=b"HTTP/1.1 304 No"), "none"),
        (response(b"Content-Length: 3", body=b"", status=b"HTTP/1.1 103 Hints") + response(), "close_delimited"),
        (response(TE, body=b"", status=b"HTTP/1.1 103 Hints") + response(), "close_delimited"),
        (response(TE, body=b"", status=b"HTTP/1.1 103 H") + response(b"Content-Length: 9"), "truncated_body"),
        (response(b"Content-Length : 3", body=b"", status=b"HTTP/1.1 103 Hints") + response(), "protocol"),
    ],
    ids=["1.0 chunked", "204", "304", "103 length", "103 chunked", "103 chunked, then length", "103 space"],
)
def test_exchange_keeps_frames_apart_when_a_status_has_no_body(transport, wire, word):
    limits = replace(LIMITS, non_2xx="normal")
    with origin(answer(wire)) as server:
        assert seen_of(transport, server.port, limits=limits)[0] == word


def test_exchange_gives_the_redirect_when_its_frame_is_not_read(transport):
    wire = response(b"Location: /y", b"Transfer-Encoding: identity", status=b"HTTP/1.1 302 Found")
    with origin(answer(wire)) as server:
        assert seen_of(transport, server.port) == ("none", b"")


# Chunks as libcurl reads them: lax in spelling, but never content with less than the last chunk and its blank line.
CHUNKED = [
    *[
        (chunks, "complete")
        for chunks in [
            *(CHUNKS, CHUNKS + b"more", b"05;x=y\r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n"),
            *(b"5\r\nhello\r\n0;x\r\n\r\n", b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
        ]
    ],
    *[(CHUNKS[:-cut], "truncated_body") for cut in range(1, len(CHUNKS))],
    *[(b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"[:-cut], "truncated_body") for cut in range(1, 8)],
    *[
        (chunks, "protocol")
        for chunks in [
            *(b"\r\n" + CHUNKS, b" " + CHUNKS, b"+" + CHUNKS, b"-" + CHUNKS, b"0x" + CHUNKS, b"\t" + CHUNKS),
            *(b"5\r\nhello, more\r\n0\r\n\r\n", b"5\r\nhel\r\n0\r\n\r\n", b"5\r\nhello\r\n\r\n"),
            *(b"5\r\nhello\r\n" + b"0" * 20 + b"\r\n\r\n", b"f" * 20 + b"\r\nhello\r\n0\r\n\r\n"),
        ]
    ],
]


@pytest.mark.parametrize(("chunks", "word"), CHUNKED, ids=[str(chunks) for chunks, _ in CHUNKED])
def test_exchange_calls_chunks_complete_only_when_the_last_one_ended_x6(transport, chunks, word):
    with origin(answer(response(TE, body=chunks))) as server:
        assert seen_of(transport, server.port) == (word, HELLO if word == "complete" else b"")


# A framing field with at most one blemish: mostly what a site sends, and all that stands one step beside it.
BLANKS = st.sampled_from([b" ", b"\t", b"\x0b", b"\x0c", b"\0", b"\r", b"\xa0", b"\r\n ", b"\r\n\t", b",", b":", b"x"])
LENGTH_FIELDS = st.tuples(
    st.sampled_from([b"Content-Length", b"content-length"]),
    st.one_of(
        st.integers(0, 12).map(lambda number: b"%d" % number),
        st.sampled_from([b"05", b"5, 5", b"5,6", b"+5", b"-5", b"0x5", b"5.0", b"1e1", b"", b"9" * 30, b"9" * 5_000]),
    ),
)
CODING_FIELDS = st.tuples(
    st.sampled_from([b"Transfer-Encoding", b"TRANSFER-ENCODING"]),
    st.sampled_from([b"chunked", b"Chunked", b"chunked, chunked", b"gzip, chunked", b"identity", b"", b"chunked;q=1"]),
)
BODIES = st.one_of(
    st.integers(0, 12).map(lambda size: b"hello, there"[:size]), st.sampled_from(CHUNKED).map(lambda c: c[0])
)
ENDS = st.sampled_from([b"\r\n", b"\n"])


@st.composite
def framing_lines(draw) -> bytes:
    name, value = draw(st.one_of(LENGTH_FIELDS, CODING_FIELDS))
    parts = [b"", name, b"", b":", b" ", value, b""]
    if draw(st.booleans()):
        place = draw(st.sampled_from([0, 2, 4, 6]))
        # A line end in front would end the head.
        parts[place] = draw(BLANKS if place else BLANKS.filter(lambda blank: b"\n" not in blank))
    return b"".join(parts)


@pytest.fixture(scope="module")
def wire_server():
    with wired() as server:
        yield server


def strictly(lines: bytes, body: bytes) -> bytes | None:
    """The one whole body that RFC 9112 sees, where it sees one. Written apart from the product, and simpler."""
    unfolded = lines.replace(b"\r\n", b"\n").replace(b"\n ", b" ").replace(b"\n\t", b" ")
    fields = [line.partition(b":") for line in unfolded.split(b"\n") if line]
    lengths = [value.strip(b" \t") for name, _, value in fields if name.lower() == b"content-length"]
    codings = [value.strip(b" \t").lower() for name, _, value in fields if name.lower() == b"transfer-encoding"]
    if codings:
        return HELLO if codings == [b"chunked"] and dict(CHUNKED).get(body) == "complete" else None
    members = {member.strip(b" \t").lstrip(b"0") for value in lengths for member in value.split(b",")}
    declared = int(members.pop()[:9] or b"0") if len(members) == 1 else len(body) + 1
    return body[:declared] if len(body) >= declared else None


@settings(max_examples=400, deadline=None)
@given(lines=st.lists(framing_lines(), min_size=1, max_size=2), end=ENDS, body=BODIES)
def test_body_is_complete_only_where_one_reading_makes_it_so_x6(transport, wire_server, lines, end, body):
    fields = end.join([b"Server: x", *lines, b""])
    wire_server.wire = OK + end + fields + end + body
    word, text = seen_of(transport, wire_server.port)
    if word == "complete":
        assert text == strictly(fields, body)
    elif word == "close_delimited":  # no line names a frame, whatever stands around the name
        names = [line.partition(b":")[0].strip().lower() for line in fields.split(b"\n") if line[:1] not in b" \t"]
        assert not {b"content-length", b"transfer-encoding"} & set(names)
    else:
        assert word in {"protocol", "truncated_body", "response_too_large"}


OVERHEAD_BYTES = 262_144
SMALL = replace(LIMITS, header_bytes=4_096, wire_bytes=1_000)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells what arrived on Linux alone")
@pytest.mark.parametrize("beyond", [-1, 0, 1])  # under, at, over what may arrive in all
def test_exchange_bounds_the_framing_when_it_came_faster_than_it_was_looked_at(transport, beyond):
    allowed = SMALL.header_bytes + 2 * SMALL.wire_bytes + OVERHEAD_BYTES
    head = response(TE, body=b"")
    left = allowed + beyond - len(head) - len(b"0\r\n\r\n")
    wire = head + b"1;" + b"a" * (left - len(b"1;\r\nx\r\n")) + b"\r\nx\r\n0\r\n\r\n"
    assert len(wire) == allowed + beyond
    trace = Trace()
    with origin(hold_after(wire)) as server, nullcontext() if beyond < 1 else pytest.raises(ResponseTooLarge) as error:
        assert exchange(transport, f"http://a.test:{server.port}/", limits=SMALL, trace=trace).body == b"x"
    if beyond > 0:
        assert (trace.body, error.value.facts) == ("over_limit", {"reason": "framing"})


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells what arrived on Linux alone")
def test_exchange_bounds_the_framing_when_many_small_chunks_carry_extensions(transport):
    wire = response(TE, body=(b"1;" + b"a" * 62 + b"\r\nx\r\n") * 90_000 + b"0\r\n\r\n")
    with origin(answer(wire)) as server, pytest.raises(ResponseTooLarge) as error:
        exchange(transport, f"http://a.test:{server.port}/")
    assert error.value.facts == {"reason": "framing"}


def test_exchange_calls_a_short_body_cut_when_the_length_is_folded(transport):
    with origin(answer(response(b"X: y", b"Content-Length:", b"\t 6"))) as server, pytest.raises(TruncatedBody):
        exchange(transport, f"http://a.test:{server.port}/")
