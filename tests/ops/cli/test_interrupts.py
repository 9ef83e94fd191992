"""Ctrl-C and SIGTERM at the edges of a command: while it still imports, and when it has said everything."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.envelope import Envelope
from tests.ops.running import HOUSE, environment, of_home

REFUSED_URL = "http://127.0.0.1/"
BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def begin(*words: str, home: Path) -> "subprocess.Popen[str]":
    """`outrider WORDS`, which tells each of its imports on stderr."""
    return subprocess.Popen(
        (sys.executable, "-X", "importtime", "-m", "ops", *words),
        cwd=HOUSE,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_import(running: "subprocess.Popen[str]", module: str) -> None:
    assert running.stderr is not None
    assert any(line.split()[-1:] == [module] for line in running.stderr)


@BOTH
@pytest.mark.parametrize("module", ["typer", "kombu"])
def test_a_call_is_cancelled_in_its_envelope_when_it_is_interrupted_while_it_imports(
    module: str, number: signal.Signals, home: Path
) -> None:
    running = begin("fetch", REFUSED_URL, "--json", home=home)
    wait_for_import(running, module)
    running.send_signal(number)
    said, told = running.communicate(timeout=60)
    envelope = Envelope.model_validate_json(said)
    assert running.returncode == 4
    assert (envelope.outcome, envelope.receipt) == ("cancelled", None)
    assert "Traceback" not in told
    assert not home.exists()


@BOTH
@pytest.mark.parametrize("words", [("status",), ("project", "show", "local")], ids=" ".join)
def test_a_command_ends_as_interrupted_when_it_is_interrupted_while_it_imports(
    words: tuple[str, ...], number: signal.Signals, home: Path
) -> None:
    running = begin(*words, home=home)
    wait_for_import(running, "pydantic")
    running.send_signal(number)
    said, told = running.communicate(timeout=60)
    assert (running.returncode, said) == (4, "")
    assert told.splitlines()[-1] == "interrupted"
    assert not home.exists()


@BOTH
def test_an_interrupt_after_the_answer_ends_as_interrupted_and_leaves_nothing(
    number: signal.Signals, home: Path
) -> None:
    """Python drops its handlers before it has gone: signals are sent until the process has."""
    running = begin("fetch", REFUSED_URL, "--json", home=home)
    assert running.stderr is not None
    assert any(line.startswith("receipt: ") for line in running.stderr)
    while running.poll() is None:
        running.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            running.wait(timeout=0.01)
    said, told = running.communicate(timeout=60)
    assert Envelope.model_validate_json(said).outcome == "refused"
    assert running.returncode == 4
    assert "Traceback" not in told
    assert of_home(home) == []
