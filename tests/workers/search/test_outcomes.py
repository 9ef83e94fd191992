"""The table of what the road's end means for a search."""

from datetime import UTC, datetime

import pytest

from schemas.errors import (
    DnsFailure,
    HttpError,
    OutriderError,
    RateLimited,
    RedirectBlocked,
    RedirectLimit,
    RedirectLoop,
    SourceUnavailable,
)
from schemas.reply import Reply
from workers.search.duckduckgo import DUCKDUCKGO
from workers.search.outcomes import in_terms_of_search, require_page


def reply(status: int) -> Reply:
    return Reply(
        place=DUCKDUCKGO.endpoint,
        status=status,
        http_version="1.1",
        headers=(),
        content_type="text/html",
        body=b"",
        completeness="complete",
        wire_bytes=0,
        retrieved_at=datetime(2026, 11, 30, tzinfo=UTC),
    )


def test_page_is_one_of_status_200() -> None:
    assert require_page(reply(200), DUCKDUCKGO).status == 200


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206])
def test_other_success_is_a_challenge(status: int) -> None:
    """X13: 202 is how the challenge comes."""
    with pytest.raises(OutriderError) as blocked:
        require_page(reply(status), DUCKDUCKGO)
    assert (blocked.value.code, blocked.value.facts["status"]) == ("source_blocked", status)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HttpError("", status=400, host="h"), "source_blocked"),
        (HttpError("", status=403, host="h"), "source_blocked"),
        (HttpError("", status=418, host="h"), "source_blocked"),
        (HttpError("", status=404, host="h"), "source_changed"),
        (HttpError("", status=405, host="h"), "source_changed"),
        (HttpError("", status=410, host="h"), "source_changed"),
        (HttpError("", status=500, host="h"), "source_unavailable"),
        (RedirectLimit("", limit=0), "redirect_blocked"),
        (RedirectLoop("", redirects=1), "redirect_blocked"),
        (RedirectBlocked("", reason="downgrade"), "redirect_blocked"),
        (RateLimited("", status=429, wait_seconds=9), "rate_limited"),
        (SourceUnavailable("", status=503), "source_unavailable"),
        (DnsFailure(""), "dns_failure"),
    ],
)
def test_road_s_end_has_a_searcher_s_code(error: OutriderError, code: str) -> None:
    """M155"""
    told = in_terms_of_search(error, DUCKDUCKGO)
    assert told.code == code
    assert told is error or told.message
