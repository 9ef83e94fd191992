"""`make demo`: what the guard and the ledger do, shown in a private internet, without any network.

Each scene runs a real command against a real fleet and says what to look at. The fleet lives in a folder of its own
and is gone afterwards.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from ops.lab.control import LabControl

_OUTRIDER = [sys.executable, "-m", "ops"]
_HELD = "https://counted.example/hold/demo"
_LEASE_SECONDS = 45
_PATIENCE_SECONDS = 90.0
_CONTEXT = {"project": "local", "agent": "cli", "run": "demo", "step": "killed", "call": "demo-killed"}


def main() -> int:
    """Play the scenes; gives the exit status. Must run inside the private internet."""
    if "OUTRIDER_LAB" not in os.environ:
        print("the demo runs in the private internet: make demo, or outrider lab python -m ops.demo", file=sys.stderr)
        return 1
    lab = LabControl()
    with tempfile.TemporaryDirectory(prefix="outrider-demo-") as home, _fleet(Path(home)) as (fleet, table):
        _scene("1. A page, fetched through a real worker, with its receipt")
        _run("fetch", "https://good.example/", "--max-chars", "1000")
        _scene("2. A search: one form to one provider, whose first result here tells all that it was told")
        _run("search", "transaction isolation", "--max-results", "2")
        _scene("3. A private address: refused before anything leaves")
        _run("fetch", "http://10.0.0.1/")
        _scene("4. A name that answers publicly once, then with a private address: caught at the second look")
        _run("fetch", "https://rebind.example/", "--max-chars", "1000", shown=3)
        _run("fetch", "https://rebind.example/")
        print(f"   connections to private addresses so far, counted by canaries: {len(lab.canaries())}")
        _scene("5. A hundred megabytes in a hundred kilobytes of gzip: cut at the limit")
        _run("fetch", "https://smallbomb.example/")
        _scene("6. A worker killed in the middle of a request: never sent again, and said so")
        _kill_a_worker(fleet, lab)
        _scene("7. Where to look")
        print("\n".join(f"   {line}" for line in table if "http" in line or "password" in line))
        print("   Flower's Tasks page shows every call of this demo by name, state and time: no URL, no text.")
        _run("status")
        print("   On your machine: make up, then outrider fetch https://example.com/")
    return 0


def _scene(title: str) -> None:
    print(f"\n=== {title}\n", flush=True)


def _run(*words: str, shown: int = 12) -> str:
    """Run a command of ours as a person would; print it with the beginning of what it says; gives its stdout."""
    print(f"   $ outrider {' '.join(words)}", flush=True)
    done = subprocess.run([*_OUTRIDER, *words], capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    cut = [*lines[:shown], "..."] if len(lines) > shown + 2 else lines
    receipt = [line for line in lines if line.startswith("receipt") and line not in cut]
    print("\n".join(f"   {line[:160]}" for line in cut + receipt))
    print(f"   (exit status {done.returncode})", flush=True)
    return done.stdout


@contextmanager
def _fleet(home: Path) -> Iterator[tuple[psutil.Process, list[str]]]:
    """`outrider up` in a folder of its own; gives its process and what it printed."""
    os.environ["OUTRIDER_HOME"] = str(home)  # for the commands that follow
    log = home / "up.log"
    print("starting a fleet of its own: PostgreSQL, Valkey, workers, beat, Flower ...", flush=True)
    with log.open("w") as out:
        process = subprocess.Popen([*_OUTRIDER, "up"], stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait(lambda: "Ctrl-C drains" in log.read_text() or process.poll() is not None, "the fleet is up")
        yield psutil.Process(process.pid), log.read_text().splitlines()
    finally:
        print("\ndraining ...", flush=True)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=_PATIENCE_SECONDS)


def _kill_a_worker(fleet: psutil.Process, lab: LabControl) -> None:
    arguments = json.dumps({"url": _HELD})
    words = ["call", "web_fetch", "--arguments", arguments, "--context", json.dumps(_CONTEXT)]
    print(f"   $ outrider {' '.join(words[:2])} ...{_HELD} &", flush=True)
    caller = subprocess.Popen([*_OUTRIDER, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.await_requests("/hold/demo", seconds=30)
    for worker in _workers(fleet):
        print(f"   kill -9 {worker.pid}   (a worker; the request is at the site, unanswered)", flush=True)
        worker.kill()
    print(f"   its lease ends {_LEASE_SECONDS} s after admission; nobody may send again meanwhile", flush=True)
    envelope = _wait(lambda: _ended(words), "the lease is over", every=5.0)
    error = envelope["error"]
    print(f"   the same call again: {envelope['outcome']}, {error['code']}: {error['message']}")
    print(f"   requests that the site has counted: {len(lab.requests('/hold/demo'))}")
    _run("receipt", "show", envelope["receipt"]["id"])
    caller.wait(timeout=_PATIENCE_SECONDS * 2)


def _ended(words: list[str]) -> dict[str, Any] | None:
    """The envelope of the same call, repeated, once it is no longer in progress."""
    done = subprocess.run([*_OUTRIDER, *words, "--json"], capture_output=True, text=True, check=False)
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope if envelope["outcome"] == "unknown" else None


def _workers(fleet: psutil.Process) -> list[psutil.Process]:
    return [one for one in fleet.children() if "fetch,search,celery" in one.cmdline()]


def _wait(look: Any, what: str, *, every: float = 0.1) -> Any:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(every)
    message = f"not within {_PATIENCE_SECONDS:.0f} s: {what}"
    raise SystemExit(message)


if __name__ == "__main__":
    sys.exit(main())
