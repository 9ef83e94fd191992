"""Peers' loops, run by a Python that has them: `python loops.py PEER SECONDS URL...` prints one JSON object.

A script of its own that imports nothing of ours: the peers' packages are no part of the product's environment.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import cycle

WARM_PAGES = 3


def requests_alone() -> Callable[[str], str]:
    """`requests.get`, then trafilatura: Markdown with links, as web_fetch gives it."""
    import requests  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: PLC0415 - one peer at a time
    import trafilatura  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: PLC0415

    def read(url: str) -> str:
        reply = requests.get(url, timeout=30)
        return trafilatura.extract(reply.content, url=url, output_format="markdown", include_links=True) or ""

    return read


def requests_session() -> Callable[[str], str]:
    """The same over one session, which keeps its connections: something web_fetch does not allow itself."""
    import requests  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: PLC0415
    import trafilatura  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: PLC0415

    session = requests.Session()

    def read(url: str) -> str:
        reply = session.get(url, timeout=30)
        return trafilatura.extract(reply.content, url=url, output_format="markdown", include_links=True) or ""

    return read


def mcp_fetch() -> Callable[[str], str]:
    """mcp-server-fetch's own function, without its robots.txt request."""
    from mcp_server_fetch import server  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: PLC0415

    runner = asyncio.Runner()

    def read(url: str) -> str:
        text, _prefix = runner.run(server.fetch_url(url, server.DEFAULT_USER_AGENT_AUTONOMOUS))
        return str(text)

    return read


PEERS = {"requests": requests_alone, "session": requests_session, "mcp": mcp_fetch}


def main() -> None:
    """Read pages in turn until the time is over."""
    peer, seconds, urls = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    read = PEERS[peer]()
    pages = cycle(urls)
    for _ in range(WARM_PAGES):
        read(next(pages))
    count = empty = 0
    began, spent = time.monotonic(), _cpu()
    while time.monotonic() - began < seconds or count % len(urls):
        empty += not read(next(pages)).strip()
        count += 1
    wall, used = time.monotonic() - began, _cpu() - spent
    print(json.dumps({"pages": count, "empty": empty, "seconds": wall, "cpu_seconds": used}))


def _cpu() -> float:
    books = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in books)


if __name__ == "__main__":
    main()
