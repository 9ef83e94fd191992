"""Receiving one response within its bounds: what to keep, when to stop, what it amounts to.

The callbacks of a transfer live here, without the library: each one keeps the reason for which it stopped, because
libcurl reports every stop of a callback as the same error and pycurl prints what a callback raises and drops it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

from schemas.errors import NetworkError, OutriderError, ResponseTooLarge, TruncatedBody
from schemas.limits import Limits
from schemas.reply import Completeness
from workers.net.decode import Coding, coding_of, decode
from workers.net.head import Head

REDIRECTS = frozenset({301, 302, 303, 307, 308})  # 300, 305 and 306 are not followed: RFC 9110 section 15.4

_STOP = -1  # what libcurl reads as "not all bytes taken"
_PARTIAL = 206


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the library itself read of a response. Shape: `content_length` where it went by one."""

    status: int
    content_length: int | None


class Receiver:
    """Takes the header lines and body pieces of one transfer.

    Shape: `failure` is why a callback stopped the transfer; `enough` is set where it stopped because the rest is not
    wanted: nobody reads the body of a redirect, or of an error where errors are failures.
    """

    __slots__ = ("_body", "_coding", "_limits", "_on_bytes", "enough", "failure", "head", "wire_bytes")

    def __init__(self, limits: Limits, on_bytes: Callable[[int], None]) -> None:
        self._limits = limits
        self._on_bytes = on_bytes
        # Not a list of pieces: two million one-byte chunks would take 80 MB as objects.
        self._body = BytesIO()
        self._coding: Coding = "identity"
        self.head = Head(limits)
        self.wire_bytes = 0
        self.enough = False
        self.failure: BaseException | None = None

    def on_header(self, line: bytes) -> int | None:
        """Take one header line."""
        try:
            if self.head.feed(line):
                self._judge_head()
        except BaseException as error:  # noqa: BLE001 - kept and raised after the transfer, whatever it is
            self.failure = error
        return _STOP if self.enough or self.failure else None

    def on_body(self, piece: bytes) -> int | None:
        """Take one piece of the body, as it was on the wire."""
        try:
            self.wire_bytes += len(piece)
            if self.wire_bytes > self._limits.wire_bytes:
                raise self._too_large()  # noqa: TRY301 - one way out of a callback
            self._body.write(piece)
            self._on_bytes(self.wire_bytes)
        except BaseException as error:  # noqa: BLE001 - kept and raised after the transfer, whatever it is
            self.failure = error
            self._body = BytesIO()
        return _STOP if self.failure else None

    def body(self, read: "Reading") -> tuple[bytes, Completeness]:
        """The decoded body with its verdict, where what the library made of the frame is what the head says.

        Raises: TruncatedBody, NetworkError, ResponseTooLarge, UnsupportedContentEncoding.
        """
        if not self.head.ended:
            raise TruncatedBody("The connection ended inside the response's headers.", reason="headers")
        if self.enough or self.head.bodiless():
            return b"", "none"
        self._compare(read)
        decoded = decode(self._body.getvalue(), self._coding, self._limits)
        if decoded.trailing_garbage:
            return decoded.body, "complete_trailing_garbage"
        return decoded.body, "close_delimited" if self.head.close_delimited() else "complete"

    def _compare(self, read: "Reading") -> None:
        """Hold two readings of one frame against each other, and ours against what came (X6): the last gate."""
        head, length = self.head, self.head.content_length()
        if (read.status, read.content_length) != (head.status, length):
            raise NetworkError("The response can be read in two ways.", reason="protocol")
        if length is not None and length != self.wire_bytes:
            raise TruncatedBody("The body is not as long as it was said to be.", reason="body")

    def _judge_head(self) -> None:
        """Stop at the head where its body cannot be used or is not wanted: nothing more is downloaded."""
        status = self.head.status
        if status in REDIRECTS or (self._limits.non_2xx == "failed" and status // 100 != 2):
            self.enough = True
        elif status == _PARTIAL:
            raise TruncatedBody("The site sent a part of the page unasked.", reason="partial_content", status=status)
        elif not self.head.bodiless():
            self._coding = coding_of(self.head.values("content-encoding"), self._limits)
            if (self.head.content_length() or 0) > self._limits.wire_bytes:
                raise self._too_large()

    def _too_large(self) -> OutriderError:
        return ResponseTooLarge(
            "The body is larger than the limit.", reason="wire", limit_bytes=self._limits.wire_bytes
        )
