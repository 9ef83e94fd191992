"""The last gate of a transfer (X6): two readings of one frame, and what came, must be one thing."""

import pytest

from schemas.errors import NetworkError, TruncatedBody
from schemas.profiles import WEB_FETCH
from workers.net.receive import Reading, Receiver


def receiver(*fields: bytes) -> Receiver:
    made = Receiver(WEB_FETCH.limits, lambda _count: None)
    for line in (b"HTTP/1.1 200 OK", *fields, b""):
        made.on_header(line + b"\r\n")
    made.on_body(b"hello")
    return made


@pytest.mark.parametrize(
    ("fields", "status", "length"),
    [
        ([b"Content-Length: 5"], 200, None),  # the library read to the connection's end
        ([b"Content-Length: 5"], 200, 4),
        ([], 200, 5),
        ([b"Transfer-Encoding: chunked"], 200, 5),
        ([b"Content-Length: 5"], 201, 5),
    ],
)
def test_receiver_refuses_when_the_library_read_another_frame(fields, status, length):
    with pytest.raises(NetworkError):
        receiver(*fields).body(Reading(status=status, content_length=length))


@pytest.mark.parametrize("length", [4, 6])
def test_receiver_calls_the_body_cut_when_it_is_not_as_long_as_both_readings_say(length):
    with pytest.raises(TruncatedBody):
        receiver(b"Content-Length: %d" % length).body(Reading(status=200, content_length=length))


def test_receiver_gives_the_body_when_all_agree():
    body = receiver(b"Content-Length: 5").body(Reading(status=200, content_length=5))
    assert body == (b"hello", "complete")
