"""The product's guard in the private internet: every kind of bad host ends in its own code, and nobody escapes.

Rows: X5, X6, X14, X15 through real sockets; issue 2 item 10 ("real ports, real pins, real certificates").
"""

import json
import sys

import pytest

from ops.lab import LabSession

ENDS = {
    "good": "ok", "www.good": "ok", "docs": "ok", "sjis": "ok", "long": "ok", "cookie": "ok", "echo": "ok",
    "upgrade": "ok", "deadfirst": "ok", "v6": "ok", "dual": "ok", "manyaddresses": "ok", "counted": "ok",
    "servfail6": "ok", "dnssilent6": "ok", "dnsslow": "ok", "dnstruncated": "ok",
    "notfound": "http_error", "error": "http_error", "busy": "rate_limited",
    "loop": "redirect_loop", "pingpong": "redirect_loop", "nolocation": "redirect_blocked",
    "toprivate": "redirect_blocked", "tometadata": "redirect_blocked", "downgrade": "redirect_blocked",
    "expired": "tls_error", "wrongname": "tls_error", "selfsigned": "tls_error", "unknownca": "tls_error",
    "plain443": "tls_error",
    "huge": "response_too_large", "bomb": "response_too_large", "smallbomb": "response_too_large",
    "drip": "request_timeout", "silent": "request_timeout", "mute": "request_timeout", "dnssilent": "request_timeout",
    "halfhead": "truncated_body", "truncated": "truncated_body", "reset": "truncated_body",
    "endlessheaders": "headers_too_large", "unreachable": "network_error",
    "mixed": "blocked_address", "mixedfamilies": "blocked_address", "private": "blocked_address",
    "rebind-private": "blocked_address", "loopback": "blocked_address", "metadata": "blocked_address",
    "uniquelocal": "blocked_address", "mapped": "blocked_address", "fakeip": "blocked_address",
    "dns64": "blocked_address", "cname-private": "blocked_address",
    "cname-loop": "dns_failure", "dangling": "dns_failure", "nodata": "dns_failure", "servfail": "dns_failure",
    "refused": "dns_failure", "nobody-there": "dns_failure",
}  # fmt: skip
PATHS = {
    "https://redirect.example/4": "ok",  # web_fetch follows four redirects, and not five (DESIGN section 5)
    "https://redirect.example/5": "redirect_limit",
    "https://truncated.example/chunked": "truncated_body",
    "https://truncated.example/gzip": "truncated_body",
    "http://good.example/": "ok",
    "http://10.0.0.1/": "blocked_address",
    "http://127.0.0.1/": "blocked_address",
    "http://[::1]/": "blocked_address",
}
EXPECTED = {f"https://{name}.example/": end for name, end in ENDS.items()} | PATHS


@pytest.fixture(scope="module")
def ends(lab: LabSession) -> dict[str, str]:
    lab.control.reset()
    ran = lab.run(sys.executable, "-m", "tests.ops.lab.guard_walk", *EXPECTED)
    assert ran.returncode == 0, ran.stderr
    return dict(map(json.loads, ran.stdout.splitlines()))


@pytest.mark.parametrize("url", EXPECTED)
def test_guard_ends_each_walk_in_its_own_code(ends: dict[str, str], url: str) -> None:
    assert ends[url] == EXPECTED[url]


def test_canaries_saw_nobody_after_every_walk(lab: LabSession, ends: dict[str, str]) -> None:
    assert lab.control.canaries() == []
    assert len(lab.control.requests(host="counted.example")) == 1
