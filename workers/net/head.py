"""The head of a response: status line, fields, and how they frame the body, within its budget."""

from schemas.errors import HeadersTooLarge, NetworkError
from schemas.limits import Limits

_INTERIM = range(100, 200)
_SWITCHING = 101
_BODILESS = (204, 304)  # RFC 9110 section 6.4.1
_CONTENT_LENGTH_DIGITS = 18  # below 2^63: libcurl ignores a longer value and reads to the connection's end


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
        text = line.rstrip(b"\r\n").decode("latin-1")
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
        """Whether the body frames itself."""
        return any("chunked" in value.lower() for value in self.values("transfer-encoding"))

    def content_length(self) -> int | None:
        """The length that frames the body, where one does."""
        if self.chunked():
            return None
        lengths = [value.strip() for value in self.values("content-length")]
        digits = lengths[0].lstrip("0") or "0" if lengths else ""
        usable = digits.isascii() and digits.isdigit() and len(digits) <= _CONTENT_LENGTH_DIGITS
        return int(digits) if usable else None

    def close_delimited(self) -> bool:
        """Whether nothing but the connection's end says where the body ends."""
        return not self.bodiless() and not self.chunked() and self.content_length() is None

    def _charge(self, line: bytes) -> None:
        self.bytes_read += len(line)
        self._lines += bool(line.strip())
        if self.bytes_read > self._limits.header_bytes or self._lines > self._limits.header_lines:
            raise HeadersTooLarge("The response's headers are larger than the limit.")

    def _start(self, text: str) -> None:
        version, _, rest = text.partition(" ")
        status = rest.strip()[:3]
        if not version.startswith("HTTP/") or not (status.isascii() and status.isdigit()):
            raise NetworkError("The site does not speak HTTP.", reason="protocol")
        self.version, self.status = version.removeprefix("HTTP/"), int(status)
        self.fields = []
        self._open = True

    def _add(self, text: str) -> None:
        if text[0] in " \t":  # obs-fold (RFC 9112 section 5.2); on the first line there is nothing to continue
            if self.fields:
                name, value = self.fields[-1]
                self.fields[-1] = (name, f"{value} {text.strip()}".strip())
            return
        name, _, value = text.partition(":")
        self.fields.append((name.strip().lower(), value.strip(" \t")))

    def _finish(self) -> bool:
        self._open = False
        if self.status == _SWITCHING:
            raise NetworkError("The site switched protocols without being asked.", reason="protocol")
        self.ended = self.status not in _INTERIM
        return self.ended
