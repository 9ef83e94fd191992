"""The counting origin and the canaries: independent witnesses of what left the product (issue 2 item 10)."""

import json
import subprocess
import sys

import pytest

from ops.lab import LabControl, LabSession
from tests.ops.lab.visits import Go

TRY = """
import socket, sys
for target in sys.argv[1:]:
    kind, address, port = target.split("|")
    six = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(six, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as line:
        line.settimeout(3)
        try:
            line.connect((address, int(port)))
            line.send(b"x")
        except OSError:
            pass
"""


def attempt(lab: LabSession, *targets: str) -> None:
    assert lab.run(sys.executable, "-c", TRY, *targets).returncode == 0


def test_counting_origin_writes_each_request_down_before_it_answers(control: LabControl, go: Go) -> None:
    (visit,) = go("https://counted.example/page?q=1")
    (noted,) = control.requests("/page?q=1")
    assert visit.status == 200
    assert (noted["scheme"], noted["host"], noted["method"]) == ("https", "counted.example", "GET")
    assert ["Accept-Encoding", "gzip"] in noted["headers"]
    assert [line["target"] for line in control.log() if line["kind"] == "counted"][-1] == "/page?q=1"


def test_counting_origin_answers_in_plain_text_under_plain(control: LabControl, go: Go) -> None:
    (visit,) = go("https://counted.example/plain/a")
    assert b"Content-Type: text/plain" in visit.head
    assert len(control.requests("/plain/a")) == 1


def test_counting_origin_counts_what_is_never_answered(lab: LabSession, control: LabControl, visit_path: str) -> None:
    with lab.start(sys.executable, visit_path, "https://counted.example/hold/a", stdout=subprocess.PIPE) as visitor:
        assert len(control.await_requests("/hold/a")) == 1
        visitor.kill()
    assert len(control.requests("/hold/a")) == 1


@pytest.mark.parametrize("path", ["hold", "half"])
def test_counting_origin_waits_for_its_release(
    lab: LabSession, control: LabControl, visit_path: str, path: str
) -> None:
    url = f"https://counted.example/{path}/b"
    with lab.start(sys.executable, visit_path, url, stdout=subprocess.PIPE, text=True) as visitor:
        control.await_requests(f"/{path}/b")
        assert visitor.poll() is None
        control.release("b")
        told = json.loads(visitor.communicate(timeout=20)[0])
    assert told["error"] is None
    assert told["wire"]


def test_counting_origin_holds_a_path_it_was_told_to(lab: LabSession, control: LabControl, visit_path: str) -> None:
    control.behave("/any", "half")
    with lab.start(sys.executable, visit_path, "https://counted.example/any", stdout=subprocess.PIPE) as visitor:
        assert control.await_requests("/any")
        control.release("/any")
        visitor.communicate(timeout=20)
    assert visitor.returncode == 0


def test_await_requests_gives_what_came_when_too_few_come(control: LabControl) -> None:
    assert control.await_requests("/never", seconds=0.05) == []


ESCAPES = [
    ("10.0.0.1", 80, "tcp"),  # somebody listens: the escape succeeds
    ("10.9.8.7", 6379, "tcp"),  # nobody listens: the attempt counts all the same
    ("169.254.169.254", 80, "tcp"),
    ("127.0.0.1", 80, "tcp"),
    ("127.9.9.9", 443, "tcp"),
    ("::1", 80, "tcp"),
    ("fc00::1", 443, "tcp"),
    ("64:ff9b::a00:1", 80, "tcp"),
    ("8.8.8.8", 53, "udp"),  # another resolver than the lab's
    ("2001:4860:4860::8888", 53, "udp"),
    ("1.1.1.1", 443, "tcp"),  # public, and still not the lab's
]


@pytest.fixture(scope="module")
def escapes(lab: LabSession) -> list[tuple[str, int, str]]:
    lab.control.reset()
    attempt(lab, *(f"{kind}|{address}|{port}" for address, port, kind in ESCAPES))
    return [(seen["address"], seen["port"], seen["protocol"]) for seen in lab.control.canaries()]


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: f"{escape[2]}-{escape[0]}-{escape[1]}")
def test_canary_counts_an_attempt_to_leave_once(
    escapes: list[tuple[str, int, str]], escape: tuple[str, int, str]
) -> None:
    assert escapes.count(escape) == 1


def test_canary_stays_silent_when_traffic_keeps_to_the_lab(lab: LabSession, control: LabControl, go: Go) -> None:
    go("https://good.example/", "https://v6.example/", "https://deadfirst.example/", "http://counted.example/")
    attempt(lab, "tcp|127.0.0.1|5432", "tcp|127.0.0.1|53", "udp|127.0.0.1|53", "tcp|::1|6379")
    assert control.canaries() == []


def test_canary_page_is_served_when_a_name_leads_inside(control: LabControl, go: Go) -> None:
    (visit,) = go("http://private.example/secret")
    assert visit.status == 200
    assert [escape["address"] for escape in control.canaries()] == ["10.0.0.1"]
