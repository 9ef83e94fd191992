"""Which encoding a body is written in, by the WHATWG rules."""

import re

import webencodings

from schemas.errors import UnsupportedContentType

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_WINDOW = 1_024  # bytes of the prescan; WHATWG HTML 13.2.3.2
_LATE_WINDOW = 65_536  # a meta after the window still changes a browser's mind while it parses; ours looks this far
_XML_DECLARATION = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")
_MARKUP = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(?P<name>meta)(?=[\s/])|</?[a-z][^\s/>]*+|<[!/?][^>]*+>?",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    rb"[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+)))?+", re.DOTALL
)
_IN_CONTENT = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_CODECS = {"gbk": "gb18030", "x-user-defined": "cp1252"}  # the WHATWG gbk decoder is gb18030's


def name_charset(body: bytes, label: str, *, markup: bool) -> str:
    """The WHATWG name of the encoding: by BOM, the header's label, the page's own word, and what the bytes allow.

    Raises: UnsupportedContentType for the labels whose encodings must not be decoded (they hide script from filters).
    """
    name = _bom(body) or _known(label) or (_declared(body[:_WINDOW]) if markup else "")
    if not name:
        name = "utf-8" if _is_utf8(body) else (_declared(body[:_LATE_WINDOW]) if markup else "") or "windows-1252"
    if name == "replacement":
        raise UnsupportedContentType("The page is in an encoding that is not decoded.", charset="replacement")
    return name


def name_json_charset(body: bytes, label: str) -> str:
    """UTF-8 where the bytes allow it, whatever a charset parameter says. Source: RFC 8259 8.1."""
    return _bom(body) or ("utf-8" if _is_utf8(body) else name_charset(body, label, markup=False))


def decode(body: bytes, name: str) -> str:
    """The text, without its byte order mark; what does not decode becomes U+FFFD."""
    bom = next((mark for mark, encoding in _BOMS if encoding == name and body.startswith(mark)), b"")
    encoding = webencodings.lookup(name)
    codec = _CODECS.get(name) or (encoding.codec_info.name if encoding else "utf-8")
    return body[len(bom) :].decode(codec, "replace")


def _bom(body: bytes) -> str:
    return next((name for mark, name in _BOMS if body.startswith(mark)), "")


def _known(label: str) -> str:
    """The encoding's name for a label; empty for a label that nobody knows."""
    encoding = webencodings.lookup(label)
    return str(encoding.name) if encoding else ""


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(body) - 3 and error.reason == "unexpected end of data"  # a cut character at the end
    return True


def _declared(head: bytes) -> str:
    """The encoding that the page itself names. Source: WHATWG HTML, "prescan a byte stream"."""
    xml = _XML_DECLARATION.match(head)
    name = _from_markup(_known(xml[1].decode("ascii", "replace"))) if xml else ""
    place = 0
    while not name and (markup := _MARKUP.search(head, place)):
        place = markup.end()
        if head[markup.start() : markup.start() + 2] not in {b"<!", b"<?"}:
            attributes, place = _attributes(head, place)
            name = _from_meta(attributes) if markup["name"] else ""
    return name


def _attributes(head: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """One tag's attributes, the first of each name, and where they end."""
    found: dict[bytes, bytes] = {}
    while one := _ATTRIBUTE.match(head, place):
        place = one.end()
        found.setdefault(one[1].lower(), next((value for value in one.groups()[1:] if value is not None), b""))
    return found, place


def _from_meta(attributes: dict[bytes, bytes]) -> str:
    label = attributes.get(b"charset", b"")
    if not label and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        content = _IN_CONTENT.search(attributes.get(b"content", b""))
        label = next((part for part in content.groups() if part), b"") if content else b""
    return _from_markup(_known(label.decode("ascii", "replace")))


def _from_markup(name: str) -> str:
    """What a page can mean when it names an encoding in ASCII: not UTF-16. Source: WHATWG prescan."""
    return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)
