"""The bounded decoder (M125, X6): what it gives, what it refuses, at which size."""

import gzip
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import ResponseTooLarge, TruncatedBody, UnsupportedContentEncoding
from schemas.profiles import WEB_FETCH
from workers.net.decode import Decoded, coding_of, decode

LIMITS = replace(WEB_FETCH.limits, decoded_bytes=1000, gzip_members=3)
TEXT = b"outrider " * 50


@pytest.mark.parametrize(
    ("values", "coding"),
    [
        ([], "identity"),
        (["", " , "], "identity"),
        (["Identity"], "identity"),
        (["GZIP"], "gzip"),
        (["x-gzip"], "gzip"),
        (["identity, gzip"], "gzip"),
        (["deflate"], "deflate"),
    ],
)
def test_coding_of_names_the_one_coding_when_it_is_known(values, coding):
    assert coding_of(values, LIMITS) == coding


@pytest.mark.parametrize("values", [["br"], ["zstd"], ["gzip, gzip"], ["gzip", "deflate"], ["gzip"] * 6, ["none"]])
def test_coding_of_refuses_when_it_is_unknown_or_stacked(values):
    with pytest.raises(UnsupportedContentEncoding):
        coding_of(values, LIMITS)


@pytest.mark.parametrize("value", ["gzip", "deflate"])
def test_coding_of_refuses_when_none_was_offered(value):
    with pytest.raises(UnsupportedContentEncoding):
        coding_of([value], replace(LIMITS, gzip=False))


@pytest.mark.parametrize("coding", ["identity", "gzip", "deflate"])
@pytest.mark.parametrize(("size", "fits"), [(999, True), (1000, True), (1001, False)])  # under, at, over the bound
def test_decode_bounds_the_body_when_its_size_is_near_the_limit(coding, size, fits):
    body = bytes(size)
    wire = {"identity": body, "gzip": gzip.compress(body), "deflate": zlib.compress(body)}[coding]
    if fits:
        assert decode(wire, coding, LIMITS) == Decoded(body)
    else:
        with pytest.raises(ResponseTooLarge):
            decode(wire, coding, LIMITS)


@pytest.mark.parametrize(("members", "fits"), [(2, True), (3, True), (4, False)])  # under, at, over the bound
def test_decode_bounds_the_members_when_there_are_many(members, fits):
    wire = gzip.compress(b"x") * members
    if fits:
        assert decode(wire, "gzip", LIMITS).body == b"x" * members
    else:
        with pytest.raises(UnsupportedContentEncoding):
            decode(wire, "gzip", LIMITS)


def test_decode_charges_all_members_to_one_budget_when_each_fits_alone():
    with pytest.raises(ResponseTooLarge):
        decode(gzip.compress(bytes(501)) * 2, "gzip", LIMITS)


def test_decode_stops_early_when_the_stream_is_a_bomb():
    wire = gzip.compress(bytes(50_000_000))
    with pytest.raises(ResponseTooLarge):
        decode(wire, "gzip", LIMITS)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@given(cut=st.integers(1, 40))
def test_decode_calls_a_stream_truncated_when_its_end_is_missing(coding, cut):
    wire = gzip.compress(TEXT) if coding == "gzip" else zlib.compress(TEXT)
    with pytest.raises(TruncatedBody):
        decode(wire[:-cut] if cut < len(wire) else wire[:1], coding, LIMITS)


def test_decode_calls_the_body_truncated_when_a_later_member_is_cut():
    with pytest.raises(TruncatedBody):
        decode(gzip.compress(TEXT) + gzip.compress(TEXT)[:-3], "gzip", LIMITS)


@pytest.mark.parametrize(
    ("tail", "garbage"), [(b"", False), (b"\0" * 600, False), (b"<!-- -->", True), (b"\0\0x", True), (b"\x1f", True)]
)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_decode_flags_garbage_when_bytes_follow_the_last_stream(coding, tail, garbage):
    wire = gzip.compress(TEXT) if coding == "gzip" else zlib.compress(TEXT)
    assert decode(wire + tail, coding, LIMITS) == Decoded(TEXT, trailing_garbage=garbage)


def test_decode_reads_raw_deflate_when_the_zlib_wrapper_is_missing():
    assert decode(zlib.compress(TEXT)[2:-4], "deflate", LIMITS) == Decoded(TEXT)


@given(junk=st.binary(min_size=1, max_size=200))
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_decode_ends_in_a_verdict_when_the_bytes_are_arbitrary(coding, junk):
    try:
        found = decode(junk, coding, LIMITS)
    except (TruncatedBody, UnsupportedContentEncoding, ResponseTooLarge):
        return
    assert len(found.body) <= LIMITS.decoded_bytes


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
def test_decode_gives_an_empty_body_when_nothing_was_sent(coding):
    assert decode(b"", coding, LIMITS) == Decoded(b"")
