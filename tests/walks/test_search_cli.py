"""`outrider search` from a person's chair: a list to read, errors that say what to do next, the right exit code."""

import json

import pytest

from ops.lab.control import LabControl
from ops.lab.engine import NO_RESULTS, results_page
from tests.fleet import Fleet
from tests.walks.test_cli import FAILED, OK, OURS, REFUSED, envelope_in, outrider

HOST = "html.duckduckgo.com"


def test_search_prints_a_list_and_its_account(fleet: Fleet, lab: LabControl) -> None:
    """The list alone on stdout; progress and the receipt line on stderr."""
    words = ("search", "isolation levels", "--max-results", "2", "--site", "docs.example", "--time-range", "y")
    done = outrider(fleet.root, *words, "--region", "us-en")
    assert done.returncode == OK, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1. isolation levels site:docs.example: number 1"
    assert lines[1].strip().startswith("https://docs.example/page/1")
    assert sum(line.startswith(("1. ", "2. ", "3. ")) for line in lines) == 2
    assert "queued" in done.stderr.splitlines()
    assert " · sent · sha-256=:" in done.stderr
    assert f" · {HOST} · " in done.stderr
    assert sum(lab.hits().values()) == 1


def test_search_gives_its_envelope(fleet: Fleet, lab: LabControl) -> None:
    done = outrider(fleet.root, "search", "isolation", "--json")
    envelope = envelope_in(done)
    assert (done.returncode, envelope.outcome, envelope.tool) == (OK, "completed", "web_search")
    assert envelope.value is not None
    assert len(envelope.value["results"]) == 10


def test_search_that_finds_nothing_says_so(fleet: Fleet, lab: LabControl) -> None:
    lab.site(HOST, site="page", body=results_page([NO_RESULTS]))
    done = outrider(fleet.root, "search", "isolation")
    assert (done.returncode, done.stdout.strip()) == (OK, "duckduckgo found nothing.")


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "said"),
    [
        pytest.param(("x" * 500,), REFUSED, "query_too_long_for_provider", "fewer words", id="too-long"),
        pytest.param(("x", "--max-results", "11"), REFUSED, "invalid_arguments", "maxResults", id="M85-11"),
        pytest.param(("x", "--site", "https://a.example"), REFUSED, "invalid_arguments", "site", id="M86-scheme"),
        pytest.param(("x", "--time-range", "hour"), REFUSED, "invalid_arguments", "timeRange", id="M88-hour"),
        pytest.param(
            ("x\u200by",), REFUSED, "invalid_arguments", "arguments.query: a query holds no control", id="M84-unseen"
        ),
        pytest.param(("!!",), REFUSED, "invalid_arguments", "no words", id="no-word"),
    ],
)
def test_refused_search_says_what_to_correct(
    fleet: Fleet, lab: LabControl, words: tuple[str, ...], exit_code: int, code: str, said: str
) -> None:
    done = outrider(fleet.root, "search", *words)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert f"({code})" in done.stderr
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert lab.queries() == []


def test_blocked_search_says_what_to_do_instead(fleet: Fleet, lab: LabControl) -> None:
    """M160: other work, or a known URL; not the same search again."""
    lab.site(HOST, site="page", status=403)
    done = outrider(fleet.root, "search", "isolation")
    assert (done.returncode, done.stdout) == (FAILED, "")
    assert "failed: The search provider turned the search away. (source_blocked)" in done.stderr
    assert "Do other work, or fetch a known reference URL directly" in done.stderr


def test_wrong_use_is_ours(fleet: Fleet, lab: LabControl) -> None:
    done = outrider(fleet.root, "search")
    assert (done.returncode, done.stdout) == (OURS, "")
    assert "Missing argument" in done.stderr
    helped = outrider(fleet.root, "--help")
    assert "search" in helped.stdout


def test_call_serves_search_too(fleet: Fleet, lab: LabControl) -> None:
    context = json.dumps(fleet.context(project=fleet.project()))
    done = outrider(fleet.root, "call", "web_search", "--arguments", '{"query": "x"}', "--context", context)
    assert (done.returncode, json.loads(done.stdout)["provider"]) == (OK, "duckduckgo")
