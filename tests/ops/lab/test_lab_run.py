"""`outrider lab COMMAND`: exit statuses, signals, no way out, nothing left behind (issue 2 item 10)."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from ops.lab import LabUnavailable, available
from ops.lab.session import HERE
from ops.lab.sweep import inhabitants
from tests.ops.lab.visits import Ordinary

FOUND = 'echo "$OUTRIDER_LAB $$"; '


def run(python: list[str], *words: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*python, "-m", "ops.lab", *words], cwd=HERE, text=True, capture_output=True, timeout=60, check=False, **options
    )


@contextmanager
def started(python: list[str], script: str) -> Iterator[tuple["subprocess.Popen[str]", Path, str]]:
    """A lab running a shell script that first says where it is; with its folder and its network."""
    with subprocess.Popen(
        [*python, "-m", "ops.lab", "sh", "-c", FOUND + script], cwd=HERE, text=True, stdout=subprocess.PIPE
    ) as lab:
        try:
            assert lab.stdout is not None
            folder, _ = lab.stdout.readline().split()
            yield lab, Path(folder), (Path(folder) / "network").read_text()
        finally:
            with suppress(ProcessLookupError):
                lab.kill()


def gone(network: str, folder: Path, seconds: float = 30) -> bool:
    """Whether the network is empty and the folder removed before the time is over."""
    until = monotonic() + seconds
    while monotonic() < until:
        if not inhabitants(network) and not folder.exists():
            return True
        sleep(0.02)
    return False


@pytest.mark.parametrize("code", [0, 42])
def test_lab_gives_the_commands_exit_status(python: list[str], code: int) -> None:
    assert run(python, "sh", "-c", f"exit {code}").returncode == code


def test_lab_says_128_and_the_signal_when_one_ended_the_command(python: list[str]) -> None:
    assert run(python, "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_lab_says_127_when_there_is_no_such_command(python: list[str]) -> None:
    ran = run(python, "no-such-command-anywhere")
    assert ran.returncode == 127
    assert ran.stderr == "lab: no-such-command-anywhere: command not found\n"


def test_lab_says_78_when_the_zone_file_is_wrong(python: list[str], tmp_path: Path) -> None:
    zone = tmp_path / "zone.toml"
    zone.write_text('[hosts."x.example"]\nA = ["not an address"]\n')
    ran = run(python, "--zone", str(zone), "true")
    assert ran.returncode == 78
    assert "x.example.A" in ran.stderr


def test_lab_says_why_and_69_when_namespaces_are_not_to_be_had(python: list[str]) -> None:
    # Inside a user namespace whose limit is zero nobody can make another network.
    lock = 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'
    locked = ["unshare", "--user", "--map-root-user", "sh", "-c", lock, "sh", *python, "-m", "ops.lab", "true"]
    ran = subprocess.run(locked, cwd=HERE, text=True, capture_output=True, timeout=60, check=False)
    assert ran.returncode == LabUnavailable.exit_status == 69
    assert ran.stderr.startswith("lab: no network namespace to be had:")


def test_joining_says_69_when_the_lab_is_gone(python: list[str], tmp_path: Path) -> None:
    ran = run(python, "--join", str(tmp_path), "true")
    assert (ran.returncode, ran.stderr) == (69, f"lab: no lab is running in {tmp_path}\n")


def test_available_has_no_objection_when_the_fixture_ran(python: list[str]) -> None:
    assert available() is None


def test_lab_keeps_the_log_when_json_log_names_a_file(python: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    run(python, "--json-log", str(log), *python, "-c", "import socket; socket.gethostbyname('good.example')")
    assert '"name": "good.example"' in log.read_text()


def test_lab_gives_the_command_its_own_environment_and_no_proxy(python: list[str]) -> None:
    ran = run(python, "env", env={**os.environ, "https_proxy": "http://10.0.0.1:3128"})
    told = dict(line.split("=", 1) for line in ran.stdout.splitlines() if "=" in line)
    assert told["OUTRIDER_NAMESERVERS"] == "127.0.0.1"
    assert told["OUTRIDER_CA_FILE"] == told["OUTRIDER_LAB"] + "/ca.pem"
    assert "https_proxy" not in told


@pytest.mark.parametrize("own", [{}, {"OUTRIDER_HOME": "/elsewhere"}], ids=["unset", "set"])
def test_lab_keeps_the_stack_of_its_command_inside_when_no_home_is_set(python: list[str], own: dict[str, str]) -> None:
    bare = {name: value for name, value in os.environ.items() if name != "OUTRIDER_HOME"}
    seen = run(python, "sh", "-c", 'echo "$OUTRIDER_HOME" "$OUTRIDER_LAB/home"', env=bare | own).stdout.split()
    assert seen[0] == own.get("OUTRIDER_HOME", seen[1])


def test_lab_finds_the_programs_beside_its_interpreter_when_no_environment_is_active(python: list[str]) -> None:
    seen = run(python, "sh", "-c", 'echo "$PATH"', env=os.environ | {"PATH": "/usr/bin:/bin"})
    assert seen.stdout.strip() == f"{Path(python[0]).parent}:/usr/bin:/bin"


def test_lab_shows_no_device_but_loopback(python: list[str]) -> None:
    ran = run(python, *python, "-c", "import socket; print(socket.if_nameindex())")
    assert ran.stdout == "[(1, 'lo')]\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_lab_passes_signals_on_to_the_command(python: list[str], number: signal.Signals) -> None:
    script = f"trap 'exit 33' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.05; done"
    with started(python, script) as (lab, folder, network):
        assert lab.stdout is not None
        lab.stdout.readline()
        lab.send_signal(number)
        assert lab.wait(timeout=15) == 33
        assert gone(network, folder)


def test_lab_ends_the_daemons_a_command_leaves_behind(python: list[str]) -> None:
    with started(python, "(setsid sleep 600 >/dev/null 2>&1 &); exit 5") as (lab, folder, network):
        assert lab.wait(timeout=15) == 5
        assert gone(network, folder, seconds=1)


@pytest.mark.fault
def test_lab_leaves_nothing_when_it_is_killed(python: list[str]) -> None:
    with started(python, "(setsid sleep 600 >/dev/null 2>&1 &); sleep 600") as (lab, folder, network):
        lab.kill()
        assert gone(network, folder)


@pytest.mark.fault
def test_lab_leaves_nothing_when_its_supervisor_is_killed(python: list[str]) -> None:
    with started(python, "(setsid sleep 600 >/dev/null 2>&1 &); sleep 600") as (lab, folder, network):
        os.kill(int((folder / "supervisor").read_text()), signal.SIGKILL)
        assert lab.wait(timeout=15) == 128 + signal.SIGKILL
        assert gone(network, folder)


def test_lab_works_for_an_ordinary_user_without_capabilities(ordinary: Ordinary) -> None:
    script = (
        "import os, socket, urllib.request as web; print(os.getuid());"
        "print([line for line in open('/proc/self/status') if line.startswith('CapEff')][0].split()[1].strip('0'));"
        "print(web.urlopen('https://good.example/').status); socket.socket().bind(('93.184.1.1', 81))"
    )
    ran = run([*ordinary.become, *ordinary.python], *ordinary.python, "-c", script)
    assert (ran.stdout, ran.stderr) == (f"{ordinary.uid}\n\n200\n", "")


def test_lab_lists_its_hosts_a_line_each(python: list[str]) -> None:
    ran = run(python, "--list")
    assert ran.returncode == 0
    assert any(line.startswith("good.example ") and "article" in line for line in ran.stdout.splitlines())
