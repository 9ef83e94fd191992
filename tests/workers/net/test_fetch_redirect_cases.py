"""Every redirect case through the walk, each hop a real response on a real socket (M122, M123, M129, M55)."""

from dataclasses import replace

import pytest

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import OutriderError, RedirectBlocked
from schemas.receipt import Journal
from schemas.reply import Ask
from tests.faults.servers import answer, in_turn, page, redirect
from tests.workers.net.fetching import Names, internet
from tests.workers.net.transporting import LIMITS, cases
from workers.net.fetch import fetch

# The cases assume five redirects and a status outside 2xx as a normal end.
CASE_LIMITS = replace(LIMITS, redirects_max=5, non_2xx="normal", ports="scheme")

# What a case's reason is with us: the error's code, and where it is a blocked redirect, its reason.
REASONS = {
    "missing_location": ("redirect_blocked", "missing_location"),
    "downgrade": ("redirect_blocked", "downgrade"),
    "non_public_address": ("redirect_blocked", "blocked_address"),
    "non_public_answer": ("redirect_blocked", "blocked_address"),
    "local_name": ("redirect_blocked", "blocked_address"),
    "credentials": ("redirect_blocked", "credentials_in_url"),
    "scheme": ("redirect_blocked", "unsupported_scheme"),
    "invalid_url": ("redirect_blocked", "invalid_url"),
    "control_char": ("redirect_blocked", "invalid_url"),
    "location_too_long": ("redirect_blocked", "location_too_long"),
    "too_many_redirects": ("redirect_loop", None),
}

CERTIFIED = ("example.com", "*.example.com", "*.example.net")


def response(hop: dict) -> bytes:
    location = hop.get("location")
    return page(b"the end", status=f"{hop['status']} S") if location is None else redirect(location, hop["status"])


def outcome(start: str, road, journal: Journal) -> tuple[str, str, str | None]:
    try:
        reply = fetch(Destination.parse(start), Ask(), CASE_LIMITS, road, Deadline.after(10), journal)
    except RedirectBlocked as error:
        return ("reject", error.code, error.facts["reason"])
    except OutriderError as error:
        return ("reject", error.code, None)
    return ("final", f"status_{reply.status}", reply.url())


@pytest.mark.parametrize("row", cases("redirect", None), ids=lambda row: row["id"])
def test_fetch_agrees_with_the_case_when_a_site_redirects(row, transport, tls):
    given = row["input"]
    fault = in_turn(*(answer(response(hop)) for hop in given["hops"]))
    journal, names = Journal(), Names(row.get("dns") or given.get("dns"))
    with internet(transport, fault, tls(*CERTIFIED), names) as (road, plain, secure):
        seen = outcome(given["start"], road, journal)
    wanted = (row["reason"], row["final"]) if row["expect"] == "final" else REASONS[row["reason"]]
    assert seen == (row["expect"], *wanted), row["why"]
    sent = [hop for hop in journal.hops if hop.sent == "sent"]
    assert len(sent) == len(plain.requests) + len(secure.requests)


def test_fetch_cases_leave_no_reason_unread():
    reasons = {row["reason"] for row in cases("redirect", None) if row["expect"] == "reject"}
    assert reasons <= set(REASONS)
