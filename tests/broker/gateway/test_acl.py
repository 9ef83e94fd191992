"""The access list: what a claim makes of a request, and which tools that gives."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from broker.gateway.acl import CALL, RUN, STEP, insist, read_authority, tools_of
from broker.ledger.agents import save_tool_list
from broker.ledger.tokens import Token
from schemas.errors import CapabilityForbidden, InvalidArguments
from schemas.grants import TOOLS, Claim
from schemas.tools import catalogue

NIGHT = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)


def bearer(project: str = "p", agent: str = "a", **claim: str) -> Token:
    return Token(
        id="tk-0123456789",
        name="tests",
        permissions=(TOOLS,),
        project=project,
        created_at=NIGHT,
        created_by="tests",
        expires_at=NIGHT,
        revoked_at=None,
        claim=Claim(agent=agent, **claim),
    )


def where(one: Token, meta: dict[str, str], now: datetime = NIGHT) -> tuple[str, str]:
    context = read_authority(one, meta, now).context
    return context.run, context.step


@pytest.mark.parametrize(
    ("claim", "meta", "expected"),
    [
        ({}, {}, ("tk-0123456789.2026-11-30", "23h")),
        ({}, {RUN: "r"}, ("r", "mcp")),
        ({}, {RUN: "r", STEP: "s"}, ("r", "s")),
        ({}, {STEP: "s"}, ("tk-0123456789.2026-11-30", "s")),
        ({"run": "r"}, {}, ("r", "mcp")),
        ({"run": "r"}, {RUN: "r", STEP: "s"}, ("r", "s")),
        ({"run": "r", "step": "s"}, {STEP: "s"}, ("r", "s")),
    ],
)
def test_run_and_step_are_the_claim_s_then_the_client_s_then_a_day_s_and_an_hour_s(claim, meta, expected):
    assert where(bearer(**claim), meta) == expected


@pytest.mark.parametrize(
    ("claim", "meta", "field"),
    [
        ({"run": "r"}, {RUN: "other"}, "_meta.outrider/run"),
        ({"run": "r", "step": "s"}, {STEP: "other"}, "_meta.outrider/step"),
        ({}, {RUN: "a b"}, "_meta.outrider/run"),
        ({}, {CALL: ""}, "_meta.outrider/call"),
        ({}, {CALL: "c" * 129}, "_meta.outrider/call"),  # over the limit of an id
        ({}, {CALL: ["c"]}, "_meta.outrider/call"),
    ],
)
def test_word_of_a_client_that_may_not_be_is_refused(claim, meta, field):
    with pytest.raises(InvalidArguments) as refused:
        read_authority(bearer(**claim), meta, NIGHT)
    assert refused.value.facts == {"field": field}


def test_call_is_the_same_after_midnight_and_another_s_is_another():
    """Its key leaves out the day's run of a bearer's own: a repeat must meet the call that it repeats."""

    def key(one: Token, *, call: str = "c", now: datetime = NIGHT, **meta: str) -> str | None:
        return read_authority(one, {CALL: call, **meta}, now).context.call

    same = [key(bearer()), key(bearer(), now=NIGHT + timedelta(seconds=2)), key(replace(bearer(), id="tk-1"))]
    assert len(set(same)) == 1
    others = [key(bearer(agent="b")), key(bearer(run="r")), key(bearer(), call="d")]
    assert len({*same, *others}) == 4
    assert key(bearer(run="r")) == key(bearer(), **{RUN: "r"})
    assert key(bearer(), call="c" * 128) is not None  # at the limit
    assert read_authority(bearer(), {}, NIGHT).context.call is None


def test_project_and_agent_are_never_the_client_s():
    meta = {"outrider/project": "other", "outrider/agent": "other", "project": "other", "session": "s"}
    context = read_authority(bearer(), meta, NIGHT).context
    assert (context.project, context.agent, context.session, context.workspace) == ("p", "a", None, None)


def test_tools_are_those_of_the_granted_families(open_ledger):
    authority = read_authority(bearer(), {}, NIGHT)
    web = {tool.name for tool in catalogue().values() if tool.audience == "agents"}
    assert {tool.name for tool in tools_of(open_ledger, authority)} == web
    save_tool_list(open_ledger, "p", "a", ("search",), actor="tests")
    left = tools_of(open_ledger, authority)
    assert [tool for tool in left if tool.profile.family == "fetch"] == []
    with pytest.raises(CapabilityForbidden):
        insist(open_ledger, authority, catalogue()["web_fetch"])


def test_unknown_project_and_agent_have_no_tools(open_ledger):
    assert tools_of(open_ledger, read_authority(bearer(project="nowhere"), {}, NIGHT)) == ()
    assert tools_of(open_ledger, read_authority(bearer(agent="nobody"), {}, NIGHT)) == ()


def test_session_has_its_own_category_and_nothing_of_the_web(open_ledger):
    """M2: whatever its agent is granted."""
    authority = read_authority(bearer(run="r", session="r-cowork-truth-analysis"), {}, NIGHT)
    assert [tool.name for tool in tools_of(open_ledger, authority) if tool.audience != "truth_session"] == []
    with pytest.raises(CapabilityForbidden):
        insist(open_ledger, authority, catalogue()["web_fetch"])


def test_token_without_a_claim_lets_nobody_act():
    with pytest.raises(CapabilityForbidden):
        read_authority(replace(bearer(), claim=None), {}, NIGHT)
