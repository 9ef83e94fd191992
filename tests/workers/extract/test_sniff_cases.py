"""The recorded content kinds, and the kinds a profile reads (M110, M208)."""

from base64 import b64decode

import pytest

from schemas.errors import UnsupportedContentType
from tests.workers.extract.reading import body_cases, read
from workers.extract import mime
from workers.extract.sniff import sniff


@pytest.mark.parametrize("case", body_cases("content_kind"))
def test_sniff_agrees_with_the_case(case):
    kind = sniff(b64decode(case["input"]["body_b64"]), mime.parse(case["input"]["content_type"]))

    assert {"markdown": "text"}.get(kind, kind) == case["expect"]


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        (None, b"  <!-- x --><!DOCTYPE html><p>hi", "html"),
        ("application/octet-stream", b"\xef\xbb\xbf<html><p>hi", "html"),
        (None, b'{"a": [1]}', "json"),
        (None, b"{not json", "text"),
        ("application/json", b"<!doctype html><p>Bad gateway", "html"),
        ("application/xml", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "html"),
        ("application/atom+xml", b"<feed>", "xml"),
        ("text/html", b"<?xml version='1.0'?><rss>", "xml"),
        ("application/zip", b"plain text", "binary"),
        ("video/mp4", b"\x00\x00\x00\x18ftypmp42", "binary"),
        ("text/html", b"\x00\x00\x00\x18ftypmp42", "binary"),
        ("text/html; charset=utf-16le", "<p>hi".encode("utf-16-le"), "html"),
        ("text/html", b"<!doctype html><p>a\x00b", "html"),
        ("text/csv", b"a,b\n1,2\n", "text"),
    ],
)
def test_sniff_judges_bytes_and_header_together(content_type, body, expected):
    assert sniff(body, mime.parse(content_type)) == expected


@pytest.mark.parametrize(
    ("media", "content_type", "body"),
    [
        (("html",), "text/plain", b"plain"),
        (("html", "text"), "application/json", b"{}"),
        (("html", "text", "markdown", "json"), "application/rss+xml", b"<rss></rss>"),
        (("any",), "application/pdf", b"%PDF-1.7 x"),
    ],
)
def test_extract_refuses_a_kind_that_the_profile_does_not_read(media, content_type, body):
    with pytest.raises(UnsupportedContentType):
        read(body, content_type, media=media)


def test_extract_reads_a_feed_as_text_when_any_media_is_read():
    assert read(b"<rss><title>News</title></rss>", "application/rss+xml", media=("any",)).kind == "text"
