"""One lab held open for the tests of this folder, and a visitor inside it."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ops.lab
from ops.lab import LabControl, LabSession
from tests.ops.lab.visits import Go, Ordinary, Visit

VISIT = Path(__file__).with_name("visit.py")


def _need_lab() -> None:
    if reason := ops.lab.available():
        pytest.skip(f"no private internet here: {reason}")


@pytest.fixture(scope="session")
def lab() -> Iterator[LabSession]:
    _need_lab()
    with LabSession() as session:
        yield session


@pytest.fixture
def control(lab: LabSession) -> Iterator[LabControl]:
    lab.control.reset()
    yield lab.control
    lab.control.reset()


@pytest.fixture(scope="session")
def go(lab: LabSession) -> Go:
    """GET some URLs from inside, one after the other."""

    def visit(*urls: str) -> list[Visit]:
        ran = lab.run(sys.executable, str(VISIT), *urls)
        assert ran.returncode == 0, ran.stderr
        return [
            Visit(told["url"], told["peer"], told["error"], base64.b64decode(told["wire"]))
            for told in map(json.loads, ran.stdout.splitlines())
        ]

    return visit


@pytest.fixture(scope="session")
def visit_path() -> str:
    return str(VISIT)


@pytest.fixture(scope="session")
def python() -> list[str]:
    """An interpreter with the lab in it, as whoever runs the tests."""
    _need_lab()
    return [sys.executable]


@pytest.fixture(scope="session")
def ordinary() -> Ordinary:
    """An ordinary user without any capability, also when root runs the tests."""
    _need_lab()
    if os.geteuid() != 0:
        return Ordinary(uid=os.geteuid(), become=[], python=[sys.executable])
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux) to become an ordinary user")
    packages = next(entry for entry in sys.path if entry.endswith("site-packages"))
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    settings = ["env", "HOME=/tmp", f"PYTHONPATH={packages}", "PYTHONDONTWRITEBYTECODE=1"]
    for interpreter in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if _runs([*become, *settings, interpreter]):
            return Ordinary(uid=65534, become=become, python=[*settings, interpreter])
    return pytest.skip("no interpreter here that an ordinary user may run: ours lies in a closed home")


def _runs(python: list[str]) -> bool:
    tried = subprocess.run([*python, "-c", "import ops.lab"], check=False, capture_output=True)
    return tried.returncode == 0
