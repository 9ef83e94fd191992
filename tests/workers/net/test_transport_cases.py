"""Every body and header case through the transport, from raw bytes on a socket (M125, M126, X6)."""

from dataclasses import replace

import pytest

from schemas.deadline import Deadline
from schemas.errors import (
    HeadersTooLarge,
    NetworkError,
    OutriderError,
    RequestTimeout,
    ResponseTooLarge,
    TruncatedBody,
    UnsupportedContentEncoding,
)
from tests.faults.servers import answer, drip, origin, reset_after
from tests.workers.net.transporting import cases, exchange, limits_of, wire_of
from workers.net.trace import Trace

# The cases' words for what our errors say with a code and facts.
WORDS = {
    (TruncatedBody, "headers"): "truncated_headers",
    (TruncatedBody, "partial_content"): "partial_content",
    (UnsupportedContentEncoding, "coding"): "unsupported_encoding",
    (UnsupportedContentEncoding, "corrupt"): "decode_error",
    (UnsupportedContentEncoding, "members"): "decode_error",
    (NetworkError, "protocol"): "protocol_error",
}
# Where a row's policy leaves the choice, ours (decision 0007).
CHOICES = {"body-012": "too_large_wire", "hdr-007": "protocol_error"}
VERDICTS = {"complete": "complete", "close_delimited": "complete", "none": "no_body"}


def word_of(error: OutriderError) -> str:
    reason = error.facts.get("reason")
    if isinstance(error, ResponseTooLarge):
        return f"too_large_{reason}"
    if isinstance(error, HeadersTooLarge):
        return "headers_too_large"
    return WORDS.get((type(error), reason), "truncated" if isinstance(error, TruncatedBody) else error.code)


@pytest.mark.parametrize("row", cases("body", None) + cases("header", None), ids=lambda row: row["id"])
def test_exchange_agrees_with_the_case_when_a_server_sends_its_bytes(row, transport):
    limits = replace(limits_of(row), non_2xx="normal")
    fault = answer(wire_of(row)) if row["input"]["close"] == "fin" else reset_after(wire_of(row))
    trace = Trace()
    with origin(fault) as server:
        try:
            reply = exchange(transport, f"http://a.test:{server.port}/", limits=limits, trace=trace)
        except OutriderError as error:
            seen = word_of(error)
        else:
            seen = VERDICTS.get(reply.completeness, reply.completeness)
            assert len(reply.body) == row["decoded_len"] == trace.decoded_bytes
            assert reply.completeness == row.get("flag", reply.completeness)
    assert seen == CHOICES.get(row["id"], row["expect"]), row["why"]
    assert trace.sent == "sent"


def test_exchange_times_out_when_the_body_drips_body_141(transport):
    (row,) = [row for row in cases("body", "timing") if row["id"] == "body-141"]
    given = row["input"]
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {given['total']}\r\n\r\n".encode()
    trace = Trace()
    with origin(drip(head, b"x" * given["bytes_per"], given["every_ms"] / 1000)) as server:
        with pytest.raises(RequestTimeout):
            exchange(transport, f"http://a.test:{server.port}/", deadline=Deadline.after(1.0), trace=trace)
        assert server.left.wait(5)
    assert trace.sent == "sent"
    assert trace.wire_bytes > 1
