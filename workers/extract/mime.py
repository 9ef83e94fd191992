"""What a Content-Type header says."""

import re
from dataclasses import dataclass

_ESSENCE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}/[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127})(?=[\s;]|$)")
_CHARSET = re.compile(r""";\s*charset\s*=\s*(?:"([^"]*)"|([^;"\s]*))""", re.IGNORECASE)
_VALUE = re.compile(r'(?:[^,"]+|"[^"]*"?)+')
_HEADER_CHARS = 1_024  # a media type with its parameters is under 100; the rest is somebody's game


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type and the charset label beside it.

    Shape: `essence` is lower case `type/subtype`, or empty when the header holds none; `charset` is the first
    non-empty label as written, or empty.
    """

    essence: str
    charset: str


def parse(content_type: str | None) -> MediaType:
    """The last valid media type of the header, with its first charset.

    Source: Fetch, "extract a MIME type"; WHATWG mimesniff, "parse a MIME type".
    """
    found = MediaType("", "")
    for value in _VALUE.findall((content_type or "")[:_HEADER_CHARS]):
        essence = _ESSENCE.match(value.strip())
        if essence and essence[1] != "*/*":
            labels = [quoted or plain for quoted, plain in _CHARSET.findall(value) if quoted or plain]
            found = MediaType(essence[1].lower(), labels[0].strip() if labels else "")
    return found
