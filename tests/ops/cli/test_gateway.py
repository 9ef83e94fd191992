"""`outrider gateway` and an agent's `outrider token create`, where they are used wrongly."""

import pytest

from tests.ops.running import outrider

OURS, FAILED = 1, 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--agent", "a"), "for one project"),
        (("--agent", "a", "--project", "p", "--permission", "fleet.view"), "for tools alone"),
        (("--run", "r", "--project", "p"), "a run to an agent"),
        (("--agent", "a", "--project", "p", "--step", "s"), "a step belongs to a run"),
        (("--agent", "a b", "--project", "p"), "is no id"),
    ],
)
def test_claim_that_is_not_whole_is_a_wrong_use(home, words, said):
    done = outrider("token", "create", "n", *words, home=home)
    assert (done.returncode, done.stdout) == (OURS, "")
    assert said in done.stderr


def test_token_of_an_agent_is_made_and_listed(home, ledger_url):
    words = ("--agent", "a", "--project", "p", "--run", "r", "--step", "s", "--expires", "1h")
    made = outrider("token", "create", "n", *words, home=home, OUTRIDER_DATABASE_URL=ledger_url)
    assert (made.returncode, made.stdout.startswith("outrider_")) == (0, True)
    listed = outrider("token", "list", home=home, OUTRIDER_DATABASE_URL=ledger_url)
    assert "agent a at run r in p" in listed.stdout
    assert made.stdout.strip() not in listed.stdout


def test_gateway_without_a_stack_says_what_to_start(home):
    done = outrider("gateway", home=home)
    assert (done.returncode, done.stdout) == (FAILED, "")
    assert "outrider up" in done.stderr


def test_gateway_over_stdio_without_a_token_says_how_to_make_one(home):
    done = outrider("gateway", "--stdio", home=home)
    assert (done.returncode, done.stdout) == (OURS, "")
    assert "outrider token create NAME --project local --agent cli" in done.stderr
