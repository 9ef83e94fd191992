"""Agents' tokens: each door knows its own alone, and the database keeps a claim whole."""

import pytest
from sqlalchemy.exc import IntegrityError

from broker.ledger.tokens import Wanted, agent_token, create_token, find_agent_token, find_token, revoke_token
from schemas.grants import MANAGE, TOOLS, Claim
from tests.ledger_calls import run_sql

CLAIM = Claim(agent="a", run="r", step="s", session="r-cowork-truth-analysis")


def test_agent_s_token_is_found_at_its_own_door_with_its_whole_claim(ledger):
    made, secret = create_token(ledger, agent_token("n", CLAIM, "p", seconds=60), actor="tests")
    assert find_agent_token(ledger, secret) == made
    assert (made.claim, made.project, made.permissions) == (CLAIM, "p", (TOOLS,))
    assert find_token(ledger, secret) is None
    revoke_token(ledger, made.id, actor="tests")
    assert find_agent_token(ledger, secret) is None


def test_administrator_s_token_is_no_agent_s(ledger):
    wanted = Wanted(name="n", permissions=(MANAGE,), project=None, seconds=60)
    made, secret = create_token(ledger, wanted, actor="tests")
    assert (find_token(ledger, secret), find_agent_token(ledger, secret)) == (made, None)


def test_expired_token_is_not_found(ledger):
    made, secret = create_token(ledger, agent_token("n", CLAIM, "p", seconds=60), actor="tests")
    an_hour_ago = (
        "UPDATE tokens SET created_at = created_at - make_interval(hours => 1), "
        "expires_at = expires_at - make_interval(hours => 1) WHERE id = :id"
    )
    run_sql(ledger, an_hour_ago, id=made.id)
    assert find_agent_token(ledger, secret) is None


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(name="n", permissions=(TOOLS,), project=None, seconds=60, claim=Claim(agent="a")),  # of no project
        Wanted(name="n", permissions=(TOOLS, MANAGE), project="p", seconds=60, claim=Claim(agent="a")),
        Wanted(name="n", permissions=(MANAGE,), project="p", seconds=60, claim=Claim(agent="a")),
        Wanted(name="n", permissions=(TOOLS,), project="p", seconds=60),  # of no agent
        agent_token("n", Claim(agent="a", step="s"), "p", seconds=60),  # a step of no run
        agent_token("n", Claim(agent="a", session="s"), "p", seconds=60),  # a session of no run
    ],
    ids=lambda wanted: f"{wanted.permissions} {wanted.project} {wanted.claim}",
)
def test_database_refuses_a_claim_that_is_not_whole(ledger, wanted):
    with pytest.raises(IntegrityError):
        create_token(ledger, wanted, actor="tests")


def test_audit_says_for_whom_a_token_acts_and_nothing_of_its_secret(ledger):
    _, secret = create_token(ledger, agent_token("n", CLAIM, "p", seconds=60), actor="tests")
    [[facts]] = run_sql(ledger, "SELECT facts FROM audit WHERE action = 'token.create'")
    assert {name: facts[name] for name in ("agent", "run", "step")} == {"agent": "a", "run": "r", "step": "s"}
    assert secret not in str(facts)
