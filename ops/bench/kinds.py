"""Kinds of load: what is measured, and how much of it."""

from dataclasses import dataclass
from typing import Any

from ops.bench.load import Kind

PAGES = ("https://good.example/", "https://docs.example/", "https://bench.example/")
PAGE_BYTES = 48_000  # a middling article: the page of the measurements that the design rests on
LATENCY_SECONDS = 0.2
WARM = 96  # operations of each kind that nobody counts: threads, connections and extraction children are made

NOOP = Kind("no-op", "bench_noop", "fetch")
SILENT = Kind("no-op, no reply stored", "bench_noop_silent", "fetch", replies=False)
BARE = Kind("bare exchange, http", "bench_bare", "fetch", ("http://text.example/",))
PLAIN = Kind("web_fetch text, http", "web_fetch", "fetch", ("http://text.example/",))
SECURE = Kind("web_fetch text, https", "web_fetch", "fetch", ("https://text.example/",))
HTML = Kind("web_fetch HTML, https", "web_fetch", "fetch", PAGES)
SLOW_HTML = Kind("web_fetch HTML, https, 200 ms", "web_fetch", "fetch", ("https://slow.example/ms/200",))
SLOW_PLAIN = Kind("web_fetch text, http, 200 ms", "web_fetch", "fetch", ("http://slow-text.example/ms/200",))

# Sites that the default zone does not have.
SITES: dict[str, dict[str, Any]] = {
    "bench.example": {"site": "page", "file": "article.html", "bytes": PAGE_BYTES, "gzip": True},
    "slow-text.example": {"site": "slow", "type": "text/plain; charset=utf-8", "body": "A plain text, late.\n"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured: rounds of every kind, operations a batch, idle calls, seconds a peer."""

    rounds: int
    sizes: dict[Kind, int]
    idle_calls: int
    peer_seconds: float


WHOLE = Effort(
    rounds=3,
    sizes={NOOP: 1500, SILENT: 1500, BARE: 900, PLAIN: 600, SECURE: 400, HTML: 400, SLOW_PLAIN: 480, SLOW_HTML: 480},
    idle_calls=100,
    peer_seconds=4.0,
)
QUICK = Effort(
    rounds=1,
    sizes={NOOP: 900, SILENT: 900, BARE: 500, PLAIN: 400, SECURE: 200, HTML: 200, SLOW_PLAIN: 320, SLOW_HTML: 320},
    idle_calls=40,
    peer_seconds=2.0,
)
