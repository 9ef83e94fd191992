"""The response head (M126, X6): its budget, its interim responses, how it frames the body."""

from dataclasses import replace

import pytest

from schemas.errors import HeadersTooLarge, NetworkError
from schemas.profiles import WEB_FETCH
from workers.net.head import Head

LIMITS = replace(WEB_FETCH.limits, header_bytes=200, header_lines=5)


def read(*lines: bytes, limits=LIMITS) -> Head:
    head = Head(limits)
    for line in lines:
        head.feed(line + b"\r\n")
    return head


@pytest.mark.parametrize(
    ("fields", "fits"), [(3, True), (4, True), (5, False)]
)  # status line included: under, at, over
def test_head_bounds_the_lines_when_there_are_many(fields, fits):
    lines = [b"HTTP/1.1 200 OK", *([b"A: b"] * fields), b""]
    if fits:
        assert read(*lines).ended
    else:
        with pytest.raises(HeadersTooLarge):
            read(*lines)


@pytest.mark.parametrize(("size", "fits"), [(199, True), (200, True), (201, False)])  # under, at, over the bound
def test_head_bounds_the_bytes_when_a_line_is_long(size, fits):
    frame = len(b"HTTP/1.1 200 OK\r\n" + b"A: \r\n" + b"\r\n")
    lines = [b"HTTP/1.1 200 OK", b"A: " + b"x" * (size - frame), b""]
    if fits:
        assert read(*lines).bytes_read == size
    else:
        with pytest.raises(HeadersTooLarge):
            read(*lines)


def test_head_forgets_interim_fields_when_the_final_response_comes():
    head = read(b"HTTP/1.1 103 Early Hints", b"Link: <x>", b"", b"HTTP/1.1 200 OK", b"A: b", b"")
    assert (head.status, head.fields, head.ended) == (200, [("a", "b")], True)


def test_head_is_not_ended_when_only_an_interim_response_came():
    assert not read(b"HTTP/1.1 100 Continue", b"").ended


def test_head_charges_interim_responses_when_they_never_end():
    with pytest.raises(HeadersTooLarge):
        read(*([b"HTTP/1.1 100 Continue", b""] * 6))


def test_head_charges_but_ignores_trailers_when_they_follow_the_body():
    head = read(b"HTTP/1.1 200 OK", b"", b"Content-Type: text/evil", b"")
    assert head.fields == []
    for _ in range(3):
        head.feed(b"X: y\r\n")
    with pytest.raises(HeadersTooLarge):
        head.feed(b"X: y\r\n")


def test_head_joins_a_folded_line_when_it_continues_a_field():
    assert read(b"HTTP/1.1 200 OK", b"A: b", b"\t c ", b"").values("a") == ["b c"]


@pytest.mark.parametrize(
    "line",
    [
        *(b"SSH-2.0-OpenSSH", b"HTTP/1.1 abc", b"HTTP/1.1", b"ICY 200 OK", b"HTTP/1.1 2000 X", b"HTTP/1.1 20"),
        *(b"HTTP/2.0 200 OK", b"HTTP/3.0 200 OK", b"HTTP/1.2 200 OK", b"HTTP/1.1 099 X", b"http/1.1 200 OK"),
    ],
)
def test_head_refuses_when_the_first_line_is_no_status_line(line):
    with pytest.raises(NetworkError):
        read(line)


def test_head_refuses_when_the_protocol_is_switched_unasked():
    with pytest.raises(NetworkError):
        read(b"HTTP/1.1 101 Switching Protocols", b"Upgrade: x", b"")


@pytest.mark.parametrize(
    ("fields", "length", "close_delimited"),
    [
        ([b"Content-Length: 12"], 12, False),
        ([b"Content-Length: 000000000000000000012"], 12, False),
        ([b"Content-Length: 12", b"Transfer-Encoding: chunked"], None, False),
        ([b"Content-Length: 12, 12"], 12, False),
        ([b"Content-Length: 9999999999999999999999"], 99999999999999999999, False),  # too large all the same
        ([], None, True),
    ],
)
def test_head_says_how_the_body_is_framed_when_it_ended(fields, length, close_delimited):
    head = read(b"HTTP/1.1 200 OK", *fields, b"")
    assert (head.content_length(), head.close_delimited()) == (length, close_delimited)


@pytest.mark.parametrize(
    "line", [b"A : b", b"A\t: b", b"\x0bA: b", b": b", b"A", b"A b: c", b"A: b\0", b"\r", b"A: b\r"]
)
def test_head_refuses_when_a_line_is_no_header(line):
    with pytest.raises(NetworkError):
        read(b"HTTP/1.1 200 OK", line)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (b"1.1", [b"Content-Length: 1, 2"]),
        (b"1.1", [b"Content-Length: 1", b"Content-Length: 2"]),
        (b"1.1", [b"Content-Length: +1"]),
        (b"1.1", [b"Content-Length: "]),
        (b"1.1", [b"Transfer-Encoding: chunked, chunked"]),
        (b"1.1", [b"Transfer-Encoding: gzip, chunked"]),
        (b"1.1", [b"Transfer-Encoding: xchunked"]),
        (b"1.1", [b"Transfer-Encoding: "]),
        (b"1.0", [b"Transfer-Encoding: chunked"]),
    ],
)
def test_head_refuses_to_say_a_frame_when_there_is_a_choice_x6(version, fields):
    head = read(b"HTTP/" + version + b" 200 OK", *fields, b"")
    with pytest.raises(NetworkError):
        head.content_length()


def test_head_joins_content_types_when_there_are_several():
    head = read(b"HTTP/1.1 200 OK", b"Content-Type: image/png", b"content-type: text/html", b"")
    assert head.content_type() == "image/png, text/html"
