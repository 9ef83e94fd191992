"""The per-tool profiles: the limits that the documents publish, as data.

Source: the web search and fetch document for `WEB_FETCH` (M104-M130, M142-M151) and
`WEB_SEARCH` (M82-M103, M142-M151). One engine reads them all.
"""

from schemas.limits import Limits, Profile, Quota

WEB_FETCH = Profile(
    name="web_fetch",
    family="fetch",
    limits=Limits(
        deadline_seconds=30,
        lease_seconds=45,
        request_seconds=30,
        redirects_max=4,
        wire_bytes=2_000_000,
        decoded_bytes=2_000_000,
        media=("html", "text", "markdown", "json"),
        gzip=True,
        source_chars=400_000,
        reply_bytes=64_000,
        links_max=20,
    ),
    quota=Quota(step_max=40, run_max=200, active_max=3),
)

WEB_SEARCH = Profile(
    name="web_search",
    family="search",
    limits=Limits(
        deadline_seconds=25,
        lease_seconds=45,
        request_seconds=25,
        redirects_max=0,
        wire_bytes=1_000_000,
        decoded_bytes=1_000_000,
        media=("html", "json"),
        methods=("POST",),
        gzip=True,
        reply_bytes=64_000,
    ),
    quota=Quota(step_max=20, run_max=100, active_max=1, gap_seconds=2.0),
)

PROFILES: tuple[Profile, ...] = (WEB_FETCH, WEB_SEARCH)
