"""The head of a response: status line, fields, and how they frame the body, within its budget.

It is read as RFC 9112 defines it or refused. libcurl reads the same lines for itself and is laxer in other places than
any second reader would be, so a head that leaves a choice could be framed by it in one way and by us in another.
"""

import re

from schemas.errors import HeadersTooLarge, NetworkError
from schemas.limits import Limits

_INTERIM = range(100, 200)
_SWITCHING = 101
_BODILESS = (204, 304)  # RFC 9110 section 6.4.1
_LENGTH_DIGITS = 20  # the first of a longer number's digits: far above every limit already
_STATUS_LINE = re.compile(r"HTTP/(1\.[01]) ([1-9][0-9]{2})(?: .*)?")  # RFC 9112 section 4
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # with nothing before its colon: RFC 9112 section 5.1
_LINE_END = re.compile(rb"\r?\n$")
_BLANKS = " \t"


class Head:
    """Reads header lines one by one; every line of every interim response and of the trailers is charged.

    Shape: `fields` are pairs of lower-case name and value of the final response; `ended` is whether its blank line
    was seen (libcurl calls a connection closed inside the header block a success).
    """

    __slots__ = ("_limits", "_lines", "_open", "bytes_read", "ended", "fields", "status", "version")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lines = 0
        self._open = False
        self.bytes_read = 0
        self.ended = False
        self.status = 0
        self.version = ""
        self.fields: list[tuple[str, str]] = []

    def feed(self, line: bytes) -> bool:
        """Take one line. True when it ended the final response's head. Raises: HeadersTooLarge, NetworkError."""
        self._charge(line)
        if self.ended:
            return False  # a trailer: charged, else ignored
        text = _LINE_END.sub(b"", line).decode("latin-1")
        if "\r" in text or "\0" in text:
            raise _unclear("The response's headers hold characters that headers cannot hold.")
        if not self._open:
            self._start(text)
        elif text:
            self._add(text)
        else:
            return self._finish()
        return False

    def values(self, name: str) -> list[str]:
        """All values of one field, in order."""
        return [value for key, value in self.fields if key == name]

    def content_type(self) -> str:
        """The Content-Type; repeated ones joined, so that the reader decides."""
        return ", ".join(self.values("content-type"))

    def bodiless(self) -> bool:
        """Whether the status says that no body follows, whatever the fields say."""
        return self.status in _BODILESS

    def chunked(self) -> bool:
        """Whether the body frames itself. Raises: NetworkError. Source: RFC 9112 section 6.1."""
        codings = self._members("transfer-encoding")
        if codings and (codings != ["chunked"] or self.version == "1.0"):
            raise _unclear("The response is transferred in a way that was not asked for.")
        return bool(codings)

    def content_length(self) -> int | None:
        """The length that frames the body, where one does. Raises: NetworkError. Source: RFC 9112 section 6.3."""
        if self.chunked():
            return None
        lengths = self._members("content-length")
        if not all(length.isascii() and length.isdigit() for length in lengths):
            raise _unclear("The response's length is no number.")
        numbers = {int(length.lstrip("0")[:_LENGTH_DIGITS] or "0") for length in lengths}
        if len(numbers) > 1:
            raise _unclear("The response has several lengths.")
        return numbers.pop() if numbers else None

    def close_delimited(self) -> bool:
        """Whether nothing but the connection's end says where the body ends."""
        return not self.bodiless() and not self.chunked() and self.content_length() is None

    def _members(self, name: str) -> list[str]:
        return [member.strip(_BLANKS).lower() for value in self.values(name) for member in value.split(",")]

    def _charge(self, line: bytes) -> None:
        self.bytes_read += len(line)
        self._lines += bool(line.strip())
        if self.bytes_read > self._limits.header_bytes or self._lines > self._limits.header_lines:
            raise HeadersTooLarge("The response's headers are larger than the limit.")

    def _start(self, text: str) -> None:
        found = _STATUS_LINE.fullmatch(text)
        if not found:
            raise _unclear("The site does not speak HTTP.")
        self.version, self.status = found[1], int(found[2])
        self.fields = []
        self._open = True

    def _add(self, text: str) -> None:
        if text[0] in _BLANKS:  # obs-fold (RFC 9112 section 5.2); on the first line there is nothing to continue
            if self.fields:
                name, value = self.fields[-1]
                self.fields[-1] = (name, f"{value} {text.strip()}".strip())
            return
        name, colon, value = text.partition(":")
        if not colon or not _NAME.fullmatch(name):
            raise _unclear("The response's headers hold a line that is no header.")
        self.fields.append((name.lower(), value.strip(_BLANKS)))

    def _finish(self) -> bool:
        self._open = False
        if self.status == _SWITCHING:
            raise _unclear("The site switched protocols without being asked.")
        self.ended = self.status not in _INTERIM
        return self.ended


def _unclear(message: str) -> NetworkError:
    return NetworkError(message, reason="protocol")
