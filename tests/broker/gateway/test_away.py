"""A gateway whose ledger is away lets nobody in, says so, and comes to an end when it is told to."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.fleet import wait_until

HOME = Path(__file__).resolve().parents[3]
NOWHERE = {
    "OUTRIDER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "OUTRIDER_BROKER_URL": "redis://127.0.0.1:1/0",
}


def test_ledger_that_is_away_is_503_and_no_token_is_told_to_the_log(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "broker.gateway"],
            cwd=HOME,
            env=os.environ | NOWHERE | {"OUTRIDER_GATEWAY_PORT": str(port)},
            stdout=out,
            stderr=out,
        )
    try:
        wait_until(lambda: listens(port), seconds=60, what="the gateway listens")
        secret = "outrider_" + "A" * 43
        with httpx2.Client(verify=False, timeout=60) as http:
            known = http.post(f"http://127.0.0.1:{port}/mcp", headers={"Authorization": f"Bearer {secret}"}, json={})
            nobody = http.post(f"http://127.0.0.1:{port}/mcp", json={})
        assert (known.status_code, known.headers["retry-after"], nobody.status_code) == (503, "5", 401)
        assert known.json()["error"] == "temporarily_unavailable"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
    assert secret not in log.read_text()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
