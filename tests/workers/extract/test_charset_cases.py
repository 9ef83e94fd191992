"""The recorded charset cases, and what they leave out (M110, M111)."""

from base64 import b64decode

import pytest

from schemas.errors import UnsupportedContentType
from tests.workers.extract.reading import body_cases
from workers.extract import mime
from workers.extract.charset import decode, name_charset, name_json_charset


def _name(content_type: str | None, body: bytes) -> str:
    media = mime.parse(content_type)
    if media.essence == "application/json":
        return name_json_charset(body, media.charset)
    return name_charset(body, media.charset, markup=True)


@pytest.mark.parametrize("case", body_cases("charset"))
def test_charset_agrees_with_the_case(case):
    given = case["input"]

    if case["expect"] == "replacement":
        with pytest.raises(UnsupportedContentType):
            _name(given["content_type"], b64decode(given["body_b64"]))
        return
    name = _name(given["content_type"], b64decode(given["body_b64"]))

    assert name in {case["expect"] or case["fallback"], case.get("alt_ok")}
    assert decode(b64decode(given["body_b64"]), name)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param(1_000, "gbk", id="under: the meta ends within the window"),
        pytest.param(1_024 - len('<meta charset="gbk">'), "gbk", id="at: its last byte is the window's last"),
        pytest.param(60_000, "gbk", id="over: a late meta counts where the bytes are no UTF-8"),
        pytest.param(70_000, "windows-1252", id="over: past the late window nobody looks"),
    ],
)
def test_charset_finds_the_meta_within_its_window(place, expected):
    body = b" " * place + b'<meta charset="gbk"><p>\xd6\xd0\xce\xc4</p>'

    assert name_charset(body, "", markup=True) == expected


def test_charset_keeps_utf8_when_a_late_meta_contradicts_valid_bytes():
    body = b" " * 2_000 + '<meta charset="gbk"><p>中文</p>'.encode()

    assert name_charset(body, "", markup=True) == "utf-8"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"<?xml version='1.0' encoding='iso-8859-2'?><html>", "iso-8859-2"),
        (b'<a title="<meta charset=gbk>">', "windows-1252"),
        (b'<meta name=x content="text/html; charset=gbk">', "windows-1252"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<META/CHARSET = 'koi8-r' >", "koi8-r"),
    ],
)
def test_charset_reads_what_the_page_declares(head, expected):
    assert name_charset(head + b"\xd6\xd0 \xff", "", markup=True) == expected


def test_decode_forgives_a_character_cut_at_the_end():
    body = "caf\u00e9".encode()[:-1]

    assert name_charset(body, "", markup=False) == "utf-8"
    assert decode(body, "utf-8") == "caf\ufffd"
