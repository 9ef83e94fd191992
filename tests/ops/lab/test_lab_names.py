"""What the lab's DNS says, asked by dnspython from inside, one packet a question."""

import json
import sys

import pytest

from ops.lab import LabControl, LabSession

ASK = """
import json, sys, dns.message, dns.query, dns.rcode
for question in sys.argv[1:]:
    name, kind = question.split("/")
    query = dns.message.make_query(name, kind)
    try:
        answer = dns.query.udp(query, "127.0.0.1", timeout=0.5)
        if answer.flags & 0x0200:
            answer = dns.query.tcp(query, "127.0.0.1", timeout=0.5)
        told = [dns.rcode.to_text(answer.rcode()), [item.to_text() for rrset in answer.answer for item in rrset]]
    except Exception as problem:
        told = [type(problem).__name__, []]
    print(json.dumps(told))
"""


def ask(lab: LabSession, *questions: str) -> list[tuple[str, list[str]]]:
    ran = lab.run(sys.executable, "-c", ASK, *questions)
    assert ran.returncode == 0, ran.stderr
    return [(rcode, answers) for rcode, answers in map(json.loads, ran.stdout.splitlines())]


ZONE = {
    "good.example/A": ("NOERROR", ["93.184.215.14"]),
    "good.example/AAAA": ("NOERROR", []),  # NODATA
    "GOOD.Example./A": ("NOERROR", ["93.184.215.14"]),
    "no-such-name.example/A": ("NXDOMAIN", []),
    "www.good.example/A": ("NOERROR", ["good.example.", "93.184.215.14"]),
    "cname-loop.example/A": ("NOERROR", ["cname-loop2.example.", "cname-loop.example."]),
    "dangling.example/A": ("NXDOMAIN", ["nowhere.example."]),
    "mixed.example/A": ("NOERROR", ["93.184.215.132", "10.0.0.1"]),
    "metadata.example/A": ("NOERROR", ["169.254.169.254"]),
    "dns64.example/AAAA": ("NOERROR", ["64:ff9b::a00:1"]),
    "fakeip.example/A": ("NOERROR", ["198.18.0.42"]),
    "servfail6.example/A": ("NOERROR", ["93.184.215.140"]),
    "servfail6.example/AAAA": ("SERVFAIL", []),
    "refused.example/A": ("REFUSED", []),
    "dnssilent.example/A": ("Timeout", []),
    "dnstruncated.example/A": ("NOERROR", ["93.184.215.144"]),
    "good.example/TXT": ("NOERROR", []),
}


@pytest.fixture(scope="module")
def zone_answers(lab: LabSession) -> dict[str, tuple[str, list[str]]]:
    return dict(zip(ZONE, ask(lab, *ZONE), strict=True))


@pytest.mark.parametrize("question", ZONE)
def test_names_say_what_the_zone_says(zone_answers: dict[str, tuple[str, list[str]]], question: str) -> None:
    assert zone_answers[question] == ZONE[question]


def test_names_rebind_when_asked_again(lab: LabSession, control: LabControl) -> None:
    told = ask(lab, *["rebind.example/A"] * 3)
    assert [answers for _, answers in told] == [["93.184.215.130"], ["10.0.0.1"], ["10.0.0.1"]]


def test_names_start_over_when_the_lab_is_reset(lab: LabSession, control: LabControl) -> None:
    ask(lab, "rebind.example/A")
    control.reset()
    assert ask(lab, "rebind.example/A") == [("NOERROR", ["93.184.215.130"])]


def test_names_say_what_a_test_told_them(lab: LabSession, control: LabControl) -> None:
    control.dns("told.example", A={"rcode": "NOERROR", "answers": ["93.184.216.34"]}, AAAA={"rcode": "TIMEOUT"})
    told = ask(lab, "told.example/A", "told.example/AAAA")
    assert told == [("NOERROR", ["93.184.216.34"]), ("Timeout", [])]


@pytest.mark.parametrize(
    ("spoil", "seen"),
    [
        ("garbage", "BadPointer"),
        ("cut", "FormError"),
        ("empty", "FormError"),
        ("wrong_id", "BadResponse"),
        ("wrong_question", "BadResponse"),
    ],
)
def test_names_spoil_the_packet_when_told_to(lab: LabSession, control: LabControl, spoil: str, seen: str) -> None:
    control.dns("spoilt.example", A={"answers": ["93.184.216.34"], "spoil": spoil})
    assert ask(lab, "spoilt.example/A")[0][0] == seen


def test_names_lead_over_a_chain_when_told_to(lab: LabSession, control: LabControl) -> None:
    links = [f"c{number}.example.net" for number in range(20)]
    control.chain("long.example.net", *links, A=["93.184.216.34"])
    ((rcode, answers),) = ask(lab, "long.example.net/A")
    assert (rcode, answers) == ("NOERROR", [*(f"{link}." for link in links), "93.184.216.34"])


def test_names_ask_for_tcp_when_the_answer_outgrows_the_packet(lab: LabSession, control: LabControl) -> None:
    crowd = [f"93.184.{block}.{number}" for block in (1, 2) for number in range(1, 101)]
    control.dns("crowd.example", A=crowd)
    ((_, answers),) = ask(lab, "crowd.example/A")
    assert answers == crowd
    assert [query["transport"] for query in control.queries("crowd.example")] == ["udp", "tcp"]


def test_names_remember_every_question(lab: LabSession, control: LabControl) -> None:
    ask(lab, "good.example/A", "nobody.example/AAAA")
    assert control.queries("nobody.example") == [{"name": "nobody.example", "type": "AAAA", "transport": "udp"}]
    assert len(control.queries()) == 2
