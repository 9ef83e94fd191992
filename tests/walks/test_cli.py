"""The command line from a person's chair: what each kind of page says, on which stream, with which exit code."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import pytest

from broker.ledger.projects import read_project
from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from schemas.envelope import Envelope
from tests.faults.servers import hold_after, origin
from tests.fleet import HOUSE, Fleet, wait_until

SECONDS = 120
OK, OURS, REFUSED, FAILED, UNKNOWN = range(5)


def started(
    root: Path, *words: str, stderr: int | IO[str] = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """`outrider WORDS` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ops", *words],
        cwd=HOUSE,
        env=os.environ | {"OUTRIDER_HOME": str(root), "PYTHONUNBUFFERED": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def outrider(root: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return ended(started(root, *words, **environment))


def envelope_in(done: subprocess.CompletedProcess[str]) -> Envelope:
    """The envelope, which must be alone on stdout and of the contract's shape."""
    return Envelope.model_validate(json.loads(done.stdout))


PAGES: Mapping[str, tuple[str, int, str | None, str]] = {
    "404": ("https://notfound.example/", FAILED, "http_error", "status 404"),
    "pdf": ("https://pdf.example/", FAILED, "unsupported_content_type", "not of a kind that is read"),
    "3-MB": ("https://huge.example/", FAILED, "response_too_large", "larger than the limit"),
    "shift-jis": ("https://sjis.example/", OK, None, "receipt: "),
    "redirect-loop": ("https://loop.example/", FAILED, "redirect_loop", "in a circle"),
    "loopback": ("http://127.0.0.1/", REFUSED, "blocked_address", "not a public destination"),
    "typo": ("https://goood.example/", FAILED, "dns_failure", "does not exist"),
    "expired": ("https://expired.example/", FAILED, "tls_error", "has expired"),
    "no-url": ("good.example", REFUSED, "invalid_url", "invalid_url"),
}


@pytest.fixture(scope="module")
def answers(fleet: Fleet, whole_lab: LabControl) -> dict[str, subprocess.CompletedProcess[str]]:
    """Each page fetched by a command of its own, two at a time."""
    whole_lab.reset()
    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(outrider, fleet.root, "fetch", page[0], "--json") for name, page in PAGES.items()}
    return {name: run.result() for name, run in runs.items()}


@pytest.mark.parametrize("name", PAGES)
def test_fetch_tells_how_it_ended(answers: dict[str, subprocess.CompletedProcess[str]], name: str) -> None:
    """Issue 2, must show: a clear message, the right exit code, a valid envelope with --json."""
    done, (_, exit_code, code, words) = answers[name], PAGES[name]
    envelope = envelope_in(done)
    assert (done.returncode, envelope.error and envelope.error.code) == (exit_code, code)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    if envelope.error is not None:
        assert f"{envelope.outcome}: {envelope.error.message} ({code})" in done.stderr
        assert f"hint: {envelope.error.hint}" in done.stderr
    if envelope.receipt is not None:
        assert f"receipt: {envelope.receipt.id} · {envelope.receipt.sent}" in done.stderr
    else:
        assert "nothing left this machine" in done.stderr


def test_fetch_prints_the_text_alone_on_stdout(fleet: Fleet, lab: LabControl) -> None:
    """Without --json: Markdown on stdout, progress and the receipt line on stderr."""
    done = outrider(fleet.root, "fetch", "https://md.example/", LC_ALL="C")
    assert done.returncode == OK
    assert done.stdout.startswith("# A Markdown page\n")
    assert "receipt: " not in done.stdout
    assert "queued" in done.stderr.splitlines()


def test_fetch_pages_through_a_long_text(fleet: Fleet, lab: LabControl) -> None:
    """M113, M116: the words on stderr are the options that go on."""
    first = outrider(fleet.root, "fetch", "https://long.example/", "--max-chars", "1000")
    assert first.returncode == OK
    more = first.stderr.partition("go on with ")[2].splitlines()[0].split()
    assert more[:3] == ["--offset", "1000", "--expected-hash"]
    second = envelope_in(outrider(fleet.root, "fetch", "https://long.example/", "--max-chars", "1000", *more, "--json"))
    assert second.value is not None
    assert (second.value["offset"], second.value["nextOffset"]) == (1000, 2000)


def test_call_takes_a_context_and_gives_the_value(fleet: Fleet, lab: LabControl) -> None:
    context = fleet.context(project=fleet.project(), call="mine")
    words = ("call", "web_fetch", "--arguments", json.dumps({"url": "https://text.example/"}))
    done = outrider(fleet.root, *words, "--context", json.dumps(context))
    assert done.returncode == OK
    assert json.loads(done.stdout)["content"].startswith("A plain text.")
    again = outrider(fleet.root, *words, "--context", json.dumps(context), "--json")
    assert (again.returncode, envelope_in(again).replayed) == (FAILED, True)
    assert lab.hits("text.example") == {"text.example/": 1}


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        pytest.param(("call", "web_fetch", "--arguments", "{"), OURS, "is not JSON", id="no-json"),
        pytest.param(("call", "web_fetch", "--arguments", "[]"), OURS, "must be a JSON object", id="no-object"),
        pytest.param(("call", "no_tool", "--arguments", "{}"), OURS, "there is no tool", id="no-tool"),
        pytest.param(("call", "web_fetch", "--arguments", "{}"), REFUSED, "invalid_arguments", id="no-url"),
        pytest.param(("fetch", "https://good.example/", "--offset", "9"), REFUSED, "expectedHash", id="no-hash"),
        pytest.param(("fetch", "https://good.example/", "--max-chars", "9"), REFUSED, "maxChars", id="too-few"),
        pytest.param(("fetch", "https://good.example/", "--no-such"), OURS, "--no-such", id="no-option"),
        pytest.param(("receipt", "show", "nothing"), FAILED, "no receipt", id="no-receipt"),
    ],
)
def test_bad_words_are_told_and_send_nothing(
    fleet: Fleet, lab: LabControl, words: tuple[str, ...], exit_code: int, said: str
) -> None:
    done = outrider(fleet.root, *words)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert lab.queries() == []


def test_status_tells_what_runs(fleet: Fleet, lab: LabControl) -> None:
    done = outrider(fleet.root, "status", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["running"], said["phase"], said["unreachable"]) == (OK, True, "ready", [])
    assert {name.partition("@")[0] for name in said["workers"]} >= {"worker-1", "care"}
    plain = outrider(fleet.root, "status")
    assert (plain.returncode, "worker-1@" in plain.stdout) == (OK, True)


def test_status_says_that_nothing_runs(lab: LabControl, tmp_path: Path) -> None:
    done = outrider(tmp_path, "status", "--json")
    assert (done.returncode, json.loads(done.stdout)["running"]) == (FAILED, False)


def test_project_is_set_shown_and_obeyed(fleet: Fleet, lab: LabControl) -> None:
    """M131, M137: a fresh project may nothing; what is set applies to the next call."""
    name = f"p-{uuid4().hex[:8]}"
    fresh = json.loads(outrider(fleet.root, "project", "show", name, "--json").stdout)
    assert (fresh["enabled"], fresh["fetch_enabled"], fresh["agents"]) == (False, False, ["designer"])
    done = outrider(fleet.root, "project", "set", name, "--enabled", "--fetch", "--agents", "cli,planner", "--json")
    saved: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, saved["agents"], saved["generation"]) == (OK, ["cli", "planner"], 1)
    assert read_project(fleet.ledger, name).agents == ("cli", "planner")
    assert fleet.fetch("https://text.example/", context=fleet.context(project=name))["outcome"] == "completed"
    assert f"{name}: web on, fetch on, agents cli, planner" in outrider(fleet.root, "project", "show", name).stdout


def test_receipt_is_shown_byte_for_byte(fleet: Fleet, lab: LabControl) -> None:
    receipt = fleet.fetch("https://text.example/")["receipt"]
    done = outrider(fleet.root, "receipt", "show", receipt["id"], "--json")
    assert done.returncode == OK
    assert done.stdout.removesuffix("\n") == read_receipt(fleet.ledger, receipt["id"]).body
    assert f"digest {receipt['digest']} is right" in done.stderr


def test_interrupt_takes_the_call_back(fleet: Fleet, lab: LabControl, tmp_path: Path) -> None:
    """M127: Ctrl-C during a fetch; the origin sees the end, the person hears what was sent."""
    lab.dns("held.example", A=["93.184.77.3"])
    said = tmp_path / "stderr"
    with (
        origin(hold_after(), address="93.184.77.3", port=80) as server,
        said.open("w") as stderr,
        started(fleet.root, "fetch", "http://held.example/", "--json", stderr=stderr) as process,
    ):
        wait_until(lambda: "connecting to held.example\n" in said.read_text(), seconds=30, what=str(said))
        wait_until(lambda: server.requests, what="the request")
        process.send_signal(signal.SIGINT)
        assert server.left.wait(8)
        done = ended(process)
    envelope = envelope_in(done)
    assert (done.returncode, envelope.outcome) == (UNKNOWN, "cancelled")
    assert envelope.receipt is not None
    assert envelope.receipt.sent == "sent"
    lines = said.read_text().splitlines()
    assert lines.index("queued") < lines.index("connecting to held.example") < lines.index("cancelling")
    assert not any("Traceback" in line for line in lines)


PROXY = "http://10.0.0.1:3128"
PROXIES = {
    name: PROXY for word in ("http_proxy", "https_proxy", "all_proxy") for name in (word, word.upper())
}  # an address that is a canary's: whoever used it would be seen


def test_stack_of_its_own_serves_a_call_that_finds_none(lab: LabControl, tmp_path: Path) -> None:
    """One call each with proxies in the environment, which are not used, and with no nameserver at all."""
    page = started(tmp_path / "one", "fetch", "https://good.example/", "--json", **PROXIES)
    nowhere = started(tmp_path / "two", "fetch", "https://good.example/", "--json", OUTRIDER_NAMESERVERS="127.0.0.99")
    fetched, lost = ended(page), ended(nowhere)
    assert (fetched.returncode, envelope_in(fetched).outcome) == (OK, "completed")
    assert lab.canaries() == []
    envelope = envelope_in(lost)
    assert (lost.returncode, envelope.error and envelope.error.code) == (FAILED, "dns_failure")
    assert "No DNS server could be reached" in lost.stderr
    assert "outrider doctor" in lost.stderr
    assert "Traceback" not in lost.stderr
    assert sum(lab.hits("good.example").values()) == 1
