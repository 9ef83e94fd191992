"""The per-tool profiles: the limits that the documents publish, as data.

Source: the web search and fetch document for `WEB_FETCH` (M104-M130, M142-M151) and
`WEB_SEARCH` (M82-M103, M142-M151); the two truth-analysis documents for `TRUTH_SEARCH` and `TRUTH_FETCH` (M32-M70).
One engine reads them all.
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

# Three queries and five hits are a run's own; how many runs of a project ride at once is ours to choose.
TRUTH_SEARCH = Profile(
    name="truth_search",
    family="truth_search",
    limits=WEB_SEARCH.limits,
    quota=Quota(step_max=3, run_max=3, active_max=3),
    text_kept=True,
)

TRUTH_FETCH = Profile(
    name="truth_fetch",
    family="truth_fetch",
    limits=Limits(
        deadline_seconds=20,
        lease_seconds=45,
        request_seconds=10,
        redirects_max=5,
        wire_bytes=524_288,
        decoded_bytes=524_288,
        media=("any",),
        source_chars=4_000_000,  # more than half a megabyte can become: the digest of the whole text is promised (M62)
        reply_bytes=65_536,
    ),
    quota=Quota(step_max=5, run_max=5, active_max=16),
    text_kept=True,
)

# Tools that ask the ledger alone. They are never admitted; the seconds are those that promises are checked against.
DESK = Profile(
    name="desk",
    family="desk",
    limits=Limits(
        deadline_seconds=20,
        lease_seconds=45,
        request_seconds=0,
        redirects_max=0,
        wire_bytes=0,
        decoded_bytes=0,
        media=(),
        methods=(),
    ),
    quota=Quota(step_max=0, run_max=0, active_max=0),
)

PROFILES: tuple[Profile, ...] = (WEB_FETCH, WEB_SEARCH, TRUTH_SEARCH, TRUTH_FETCH, DESK)
