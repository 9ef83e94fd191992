"""The one table from libcurl's error codes to our errors."""

from dataclasses import dataclass

import pycurl

from schemas.errors import (
    HeadersTooLarge,
    Internal,
    InvalidUrl,
    NetworkError,
    OutriderError,
    RedirectBlocked,
    RequestTimeout,
    ResponseTooLarge,
    TlsError,
    TruncatedBody,
)

# pycurl has no names for these three. Source: curl.h.
_WEIRD_SERVER_REPLY, _SETOPT_OPTION_SYNTAX, _TOO_LARGE = 8, 49, 100

_CONNECT = (NetworkError, "No connection could be made to the site.", "connect")
_PROTOCOL = (NetworkError, "The site does not speak proper HTTP.", "protocol")
_BROKE = (NetworkError, "The connection to the site broke.", "broken_connection")
_TLS = (TlsError, "No TLS session could be agreed with the site.", "handshake")
_CUT = (TruncatedBody, "The body ended before its own framing said so.", "body")
_OURS = (Internal, "The transfer could not be set up.", "setup")

_TABLE: dict[int, tuple[type[OutriderError], str, str]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: _PROTOCOL,  # also what HTTP/0.9, ICY and odd status lines come to
    pycurl.E_URL_MALFORMAT: (InvalidUrl, "The URL is read differently by two parsers.", "parsers"),
    pycurl.E_COULDNT_RESOLVE_HOST: _OURS,  # the resolver is off: only a pin that does not fit ends here
    pycurl.E_COULDNT_CONNECT: _CONNECT,
    _WEIRD_SERVER_REPLY: _PROTOCOL,
    pycurl.E_PARTIAL_FILE: _CUT,
    pycurl.E_WRITE_ERROR: _OURS,  # our own stops carry their reason and never come here
    pycurl.E_OPERATION_TIMEDOUT: (RequestTimeout, "The deadline passed.", "deadline"),
    pycurl.E_SSL_CONNECT_ERROR: _TLS,
    pycurl.E_ABORTED_BY_CALLBACK: _OURS,
    _SETOPT_OPTION_SYNTAX: _OURS,
    pycurl.E_GOT_NOTHING: (NetworkError, "The site closed the connection without an answer.", "no_answer"),
    pycurl.E_SSL_CERTPROBLEM: _TLS,
    pycurl.E_SSL_CIPHER: _TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: (TlsError, "The site's certificate is not valid for it.", "certificate"),
    # With decoding off, only a Transfer-Encoding that we never asked for ends in this code.
    pycurl.E_BAD_CONTENT_ENCODING: _PROTOCOL,
    pycurl.E_FILESIZE_EXCEEDED: (ResponseTooLarge, "The body is larger than the limit.", "wire"),
    pycurl.E_SSL_CACERT_BADFILE: (Internal, "The file of trusted certificate authorities cannot be read.", "ca_file"),
    pycurl.E_SSL_ISSUER_ERROR: _TLS,
    _TOO_LARGE: (HeadersTooLarge, "The response's headers are larger than the limit.", "library"),
}

# X509_V_ERR_* of OpenSSL's x509_vfy.h, as CURLINFO_SSL_VERIFYRESULT gives them.
_CERTIFICATE: dict[int, tuple[str, str]] = {
    9: ("The site's certificate is not yet valid.", "not_yet_valid"),
    10: ("The site's certificate has expired.", "expired"),
    18: ("The site's certificate is signed by itself.", "self_signed"),
    19: ("The site's certificate comes from an unknown authority.", "unknown_authority"),
    20: ("The site's certificate comes from an unknown authority.", "unknown_authority"),
    21: ("The site's certificate comes from an unknown authority.", "unknown_authority"),
    62: ("The site's certificate is for another name.", "wrong_name"),
}
_WRONG_NAME = _CERTIFICATE[62]  # libcurl checks the name itself after OpenSSL is content: code 60 with result 0 or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How libcurl says that a transfer ended. Shape: `verify` is CURLINFO_SSL_VERIFYRESULT."""

    code: int
    words: str
    verify: int
    head_ended: bool


def translate(ending: Ending, host: str) -> OutriderError:
    """The error of ours for an ending. libcurl's own words name addresses, so they are not passed on."""
    if ending.code == pycurl.E_PEER_FAILED_VERIFICATION:
        message, reason = _CERTIFICATE.get(ending.verify, _WRONG_NAME)
        return TlsError(message, host=host, reason=reason)
    if ending.code == _WEIRD_SERVER_REPLY and "Location" in ending.words:  # it compares them before we see the second
        return RedirectBlocked("The redirect names several targets.", reason="multiple_locations")
    if ending.code in (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR):
        return _broken(ending, host)
    kind, message, reason = _TABLE.get(ending.code, (NetworkError, "The transfer failed.", f"curl_{ending.code}"))
    return kind(message, host=host, reason=reason)


def _broken(ending: Ending, host: str) -> OutriderError:
    """Code 56 stands for a reset, a TLS end without close_notify, and broken chunk framing: the words tell which."""
    lost = any(word in ending.words for word in ("Recv failure", "Send failure", "SSL", "eof"))
    kind, message, reason = (_CUT if ending.head_ended else _BROKE) if lost else _PROTOCOL
    return kind(message, host=host, reason=reason)
