"""Every redirect case through a worker, each on hosts of its own (M122, M123, M129, M55).

The cases assume five redirects and give any status as a normal end; the profile follows four and calls a status outside
2xx a failure. What a case says then is derived here.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.lab.control import LabControl
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from tests.fleet import Fleet
from tests.walks.crowd import Seen, see_all

ROWS = cases("redirect")
PAGE = "<!doctype html><html><body><p>This is where the road leads to in the end.</p></body></html>"
HOSTS = ("example.com", "www.example.com", "a.example.com", "b.example.com")
OTHERS = ("evil.example.net", "b.example.net", "c.example.net")
REDIRECTS = (301, 302, 303, 307, 308)

# What a case's reason is with us: the code, and where a redirect is blocked, why.
BLOCKED = {
    "missing_location": "missing_location",
    "downgrade": "downgrade",
    "non_public_address": "blocked_address",
    "non_public_answer": "blocked_address",
    "local_name": "blocked_address",
    "credentials": "credentials_in_url",
    "scheme": "unsupported_scheme",
    "invalid_url": "invalid_url",
    "control_char": "invalid_url",
    "location_too_long": "location_too_long",
}


def own(row: dict[str, Any], text: str) -> str:
    """The text with the case's host names made its own."""
    for domain in ("example.com", "example.net"):
        text = text.replace(domain, f"{row['id']}.{domain}")
    return text


def reply_of(row: dict[str, Any], hop: dict[str, Any]) -> dict[str, Any]:
    location = hop.get("location")
    headers = {} if location is None else {"Location": own(row, location)}
    return {"status": hop["status"], "headers": headers, "body": PAGE, "close": "fin"}


def arrange(lab: LabControl, row: dict[str, Any]) -> None:
    """One site behind all hosts of the case: it gives the case's hops in turn, whoever is asked."""
    given = row["input"]
    hosts = [own(row, host) for host in (*HOSTS, *OTHERS)]
    lab.site(*hosts, site="wire", replies=[reply_of(row, hop) for hop in given["hops"]])
    for host, addresses in (row.get("dns") or given.get("dns") or {}).items():
        lab.dns(own(row, host), A=addresses)


def expected(row: dict[str, Any]) -> tuple[str, str | None, Any]:
    """Outcome, code, and what tells more: where it ended, why it was blocked, which status."""
    last = row["input"]["hops"][-1]
    redirects = sum(hop["status"] in REDIRECTS for hop in row["input"]["hops"])
    if redirects > WEB_FETCH.limits.redirects_max:  # redir-080 to 082: each comes back to a URL it was at
        return ("failed", "redirect_loop", None)
    if row["expect"] == "reject":
        return ("failed", "redirect_blocked", BLOCKED[row["reason"]])
    if last["status"] // 100 != 2:
        return ("failed", "http_error", last["status"])
    return ("completed", None, own(row, row["final"]))


def told(seen: Seen) -> Any:
    """What tells more than the code."""
    if seen.envelope["value"] is not None:
        return seen.envelope["value"]["finalUrl"]
    return seen.facts.get("status", seen.facts.get("reason"))


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> Iterator[dict[str, Seen]]:
    """All cases at once."""
    whole_lab.reset()
    rows = [param.values[0] for param in ROWS]
    for row in rows:
        arrange(whole_lab, row)
    yield see_all(fleet, [(row["id"], own(row, row["input"]["start"])) for row in rows])
    assert whole_lab.canaries() == []


@pytest.mark.parametrize("row", ROWS)
def test_call_agrees_with_the_redirect_case(answers: dict[str, Seen], row: dict[str, Any]) -> None:
    seen = answers[row["id"]]
    assert (seen.outcome, seen.code, told(seen)) == expected(row), row["why"]


@pytest.mark.parametrize("row", ROWS)
def test_receipt_counts_the_requests_of_the_redirect_case(
    answers: dict[str, Seen], whole_lab: LabControl, row: dict[str, Any]
) -> None:
    """X7: what the receipt calls sent is what the sites were asked, each at an address that was judged."""
    sent = [hop for hop in answers[row["id"]].hops if hop["sent"] == "sent"]
    asked = sum(count for target, count in whole_lab.hits().items() if f"{row['id']}." in target)
    assert len(sent) == asked > 0
    assert all(hop["peer"] in hop["addresses"] for hop in sent)


def test_redirect_cases_leave_no_reason_unread() -> None:
    reasons = {param.values[0]["reason"] for param in ROWS if param.values[0]["expect"] == "reject"}
    assert reasons - {"too_many_redirects"} <= set(BLOCKED)
