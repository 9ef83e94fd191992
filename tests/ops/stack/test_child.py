"""Children: how they are launched, bound to us, and stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ops.stack import child
from ops.stack.child import Escalation, Part
from ops.stack.faults import PartFailed
from ops.stack.interrupts import Interrupts
from tests.ops.running import wait_until

STUBBORN = """
import signal, sys
for number in sys.argv[1:]:
    signal.signal(int(number), signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""
PATIENT: Escalation = ((signal.SIGTERM, 60.0), (signal.SIGKILL, 5.0))
IMPATIENT: Escalation = ((signal.SIGTERM, 0.2), (signal.SIGINT, 0.2), (signal.SIGKILL, 5.0))
HURRIED: Escalation = ((signal.SIGKILL, 5.0),)


def a_part(folder: Path, *, ignoring: tuple[signal.Signals, ...] = (), stops: Escalation = PATIENT) -> Part:
    words = [str(int(number)) for number in ignoring]
    return Part(
        name="stubborn",
        argv=(sys.executable, "-c", STUBBORN, *words),
        folder=folder,
        log=folder / "stubborn.log",
        tier=1,
        stops=stops,
        hurried_stops=HURRIED,
    )


def started(part: Part) -> child.Child:
    one = child.start(part)
    wait_until(lambda: "ready" in part.log.read_text(), "it is up")
    return one


def test_a_child_leads_a_session_of_its_own_with_a_private_log(tmp_path: Path) -> None:
    one = started(a_part(tmp_path))
    assert os.getsid(one.pid) == one.pid
    assert (tmp_path / "stubborn.log").stat().st_mode & 0o777 == 0o600
    assert child.stop([one], lambda: False) == []
    assert one.ended() == -signal.SIGTERM


def test_stopping_goes_on_to_the_next_signal_when_one_is_not_heard(tmp_path: Path) -> None:
    one = started(a_part(tmp_path, ignoring=(signal.SIGTERM,), stops=IMPATIENT))
    assert child.stop([one], lambda: False) == []
    assert one.ended() == -signal.SIGINT


def test_stopping_kills_what_hears_nothing_and_says_so(tmp_path: Path) -> None:
    one = started(a_part(tmp_path, ignoring=(signal.SIGTERM, signal.SIGINT), stops=IMPATIENT))
    assert child.stop([one], lambda: False) == [one]


def test_a_hurry_cuts_the_waiting_short(tmp_path: Path) -> None:
    one = started(a_part(tmp_path, ignoring=(signal.SIGTERM,)))
    asked = iter([False, False])
    assert child.stop([one], lambda: next(asked, True)) == [one]


@pytest.mark.parametrize(("more", "kept"), [(-1, True), (0, True), (1, False)], ids=["under", "at", "over"])
def test_a_long_log_is_set_aside_when_its_child_starts(more: int, *, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "stubborn.log").write_bytes(b"x" * (child.LOG_BYTES + more))
    one = started(a_part(tmp_path))
    child.stop([one], lambda: True)
    assert (tmp_path / "stubborn.log.1").exists() is not kept


def test_a_program_that_is_not_there_ends_and_its_log_says_why(tmp_path: Path) -> None:
    part = Part(name="gone", argv=("/nowhere/program",), folder=tmp_path, log=tmp_path / "gone.log", tier=1)
    one = child.start(part)
    assert one.process.wait(timeout=20) == 1
    assert "No such file" in part.log.read_text()


def test_a_folder_that_is_not_there_is_told_as_a_failed_part(tmp_path: Path) -> None:
    part = Part(name="gone", argv=("/bin/true",), folder=tmp_path / "none", log=tmp_path / "gone.log", tier=1)
    with pytest.raises(PartFailed, match="gone did not start"):
        child.start(part)


def test_a_child_of_a_parent_that_is_gone_never_begins(tmp_path: Path) -> None:
    """The launcher is told of a parent that is not its own, as when the supervisor was killed in between."""
    command = ("/bin/touch", str(tmp_path / "began"))
    words = (sys.executable, "-I", "-S", str(child.LAUNCHER), "0", str(int(signal.SIGKILL)), "0", "--", *command)
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
    assert not (tmp_path / "began").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a program to another user")
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_root_hands_a_program_to_another_user_with_one_capability(tmp_path: Path) -> None:
    part = Part(
        name="handed",
        argv=("/bin/cat", "/proc/self/status"),
        folder=tmp_path,
        log=tmp_path / "handed.log",
        tier=1,
        user_id=65_534,
    )
    assert child.start(part).process.wait(timeout=20) == 0
    status = dict(line.split(":\t", 1) for line in part.log.read_text().splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65534"] * 4
    assert {status[name].strip() for name in ("CapEff", "CapPrm", "CapAmb")} == {f"{1 << 1:016x}"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a program to another user")
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_the_other_user_passes_closed_folders_also_in_the_eyes_of_access(tmp_path: Path) -> None:
    """PostgreSQL judges its own programs by access(2), which by itself forgets capabilities: a clone under /root."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").write_text("")
    (closed / "file").chmod(0o600)
    part = Part(
        name="handed",
        argv=("/usr/bin/test", "-r", str(closed / "file")),
        folder=tmp_path,
        log=tmp_path / "handed.log",
        tier=1,
        user_id=65_534,
    )
    assert child.start(part).process.wait(timeout=20) == 0


def test_signals_are_counted_and_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        assert not interrupts.asked()
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(interrupts.asked, "the first signal")
        assert not interrupts.hurry()
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(interrupts.hurry, "the second signal")
    assert signal.getsignal(signal.SIGTERM) is before
