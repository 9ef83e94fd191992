"""The road: addresses, names, TLS, redirects, statuses, bodies."""

from schemas.errors.tree import Failed, Refused


class AddressRefused(Refused):
    """The destination, or one of its addresses, is not on the public internet."""

    code = "blocked_address"
    hint = (
        "Only public internet destinations are fetched. `outrider doctor` explains a network that refuses everything."
    )


class FakeIpDns(AddressRefused):
    """This machine's DNS hands out stand-in addresses (198.18.0.0/15), as proxies in fake-IP mode do (X14)."""

    hint = (
        "This machine's DNS gives stand-in addresses (fake-IP mode of a proxy or VPN), so that no site can be judged. "
        "Set the proxy to real-IP mode, or point OUTRIDER_NAMESERVERS at a resolver that gives real addresses; "
        "`outrider doctor` checks it."
    )


class Dns64Network(AddressRefused):
    """This machine's DNS makes NAT64 addresses for IPv4 sites (DNS64), and those are refused (X14)."""

    hint = (
        "This machine's network reaches IPv4 sites through NAT64, and its DNS64 answers are refused. Point "
        "OUTRIDER_NAMESERVERS at a resolver without DNS64, on a machine with IPv4; `outrider doctor` checks it."
    )


class DnsFailure(Failed):
    """The name gave no usable answer."""

    code = "dns_failure"
    hint = (
        "Check the spelling of the host; if it is right, its DNS is not answering. `outrider doctor` checks this "
        "machine's own DNS."
    )


class TlsError(Failed):
    """No trustworthy TLS session: certificate, name, version or handshake."""

    code = "tls_error"
    hint = "The site's certificate or TLS set-up is not valid; it is not fetched without a valid one."


class NetworkError(Failed):
    """The connection could not be made or broke."""

    code = "network_error"
    hint = "The site did not answer properly. Try another source, or this one later."


class RequestTimeout(Failed):
    """The deadline passed."""

    code = "request_timeout"
    hint = "The source is too slow for the deadline. Try another source."


class RedirectLimit(Failed):
    """More redirects than the profile follows."""

    code = "redirect_limit"
    hint = "Fetch the final address directly."


class RedirectBlocked(Refused):
    """A redirect to a place the guard or the profile refuses, or one without a usable Location."""

    code = "redirect_blocked"
    hint = "The source redirects to a place that may not be fetched."


class RedirectLoop(Failed):
    """A redirect back to a URL already visited in this fetch."""

    code = "redirect_loop"
    hint = "The source redirects in a circle without cookies. Use another source."


class HttpError(Failed):
    """A status outside 2xx, where the profile takes that as a failure."""

    code = "http_error"
    hint = "The site answered with an error status. Check the address or use another source."


class RateLimited(Failed):
    """The site asks for fewer requests: 429, or 503 with Retry-After."""

    code = "rate_limited"
    hint = "The site limits requests. Do other work, or use another source; do not retry at once."


class SourceUnavailable(Failed):
    """The site says that it is not available: 502, 503, 504."""

    code = "source_unavailable"
    hint = "The site is down for now. Do other work, or use another source."


class HeadersTooLarge(Failed):
    """The response header block outgrew its bounds."""

    code = "headers_too_large"
    hint = "The site's answer is malformed or hostile. Use another source."


class ResponseTooLarge(Failed):
    """The body outgrew its bound, on the wire or decoded; what we had was dropped."""

    code = "response_too_large"
    hint = "The page is larger than the published limit. Use a more focused source."


class TruncatedBody(Failed):
    """The body ended before its own framing said so; it is never stored as complete."""

    code = "truncated_body"
    hint = "The site broke off in the middle. Try again later or use another source."


class UnsupportedContentType(Failed):
    """Not one of the media kinds that the profile reads, judged by bytes as well as by header."""

    code = "unsupported_content_type"
    hint = "Only HTML, XHTML, plain text, Markdown and JSON are read: no PDF, image or download."


class UnsupportedContentEncoding(Failed):
    """A content coding we did not ask for, or one that did not decode."""

    code = "unsupported_content_encoding"
    hint = "The site sends an encoding that was not asked for. Use another source."
