"""X8 through the door: what somebody with every right of the database altered is named, and the exit code is 3.

The ledger's triggers refuse every edit, so the tests switch them off first, as such a somebody would.
"""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sqlalchemy import text

from broker.ledger.operations import admit
from broker.ledger.projects import Project, save_project
from tests.ledger_calls import request
from tests.ops.running import outrider
from tests.receipt_calls import WIDE, settled

EDIT = """UPDATE receipts SET body = replace(body, '"wire_bytes"', '"wire_bytez"') WHERE operation_id = :b"""
REDIGEST = """
UPDATE receipts SET digest = 'sha-256=:' || encode(sha256(convert_to(body, 'UTF8')), 'base64') || ':'
  WHERE operation_id = :b
"""
CUT = "DELETE FROM receipts WHERE operation_id = :d;"
MEND_HEAD = "UPDATE chains SET length = 3, head = (SELECT link FROM receipts WHERE position = 3)"
FORGE = """
INSERT INTO operations SELECT :new, project, 'forged', tool, family, agent, run, step, arguments_digest, task_id, owner,
    generation, slot, state, code, sent, admitted_at, lease_until, ended_at FROM operations WHERE id = :b;
INSERT INTO receipts SELECT :new, replace(body, :b, :new), digest, written_at, 4, link
  FROM receipts WHERE operation_id = :b
"""
SWAP = """
UPDATE receipts r SET position = other.position, link = other.link FROM receipts other
  WHERE (r.operation_id, other.operation_id) IN ((:a, :b), (:b, :a))
"""


@pytest.fixture
def run_of_four(ledger):
    """The ids of four operations that have ended in run r of project p, as a, b, c, d."""
    save_project(ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    return {name: settled(ledger) for name in "abcd"}


def tamper(ledger, statements, **values):
    """As a superuser without triggers and foreign keys."""
    with ledger.connect() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        for statement in statements.split(";"):
            used = {name: value for name, value in values.items() if f":{name}" in statement}
            connection.execute(text(statement), used)
        connection.execute(text("RESET session_replication_role"))


def verify(url, home, *words):
    ended = outrider("receipt", "verify", *words, "--json", home=home, OUTRIDER_DATABASE_URL=url)
    told = json.loads(ended.stdout) if ended.stdout else None
    return ended.returncode, told


def named(told):
    return {(finding["fault"], finding["operation_id"] or finding["position"]) for finding in told["findings"]}


def test_verify_says_all_is_right_when_nothing_was_altered(run_of_four, ledger_url, home: Path):
    code, told = verify(ledger_url, home, "--run", "r", "--project", "p")
    assert (code, told["right"], told["receipts"], told["findings"]) == (0, True, 4, [])
    assert verify(ledger_url, home, run_of_four["b"]) == (code, told)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (EDIT, {("digest_wrong", "b")}),
        (f"{EDIT}; {REDIGEST}", {("link_wrong", "b")}),
        ("DELETE FROM receipts WHERE operation_id = :b", {("missing", 2), ("missing", "b")}),
        (
            "DELETE FROM receipts WHERE operation_id = :b; DELETE FROM operations WHERE id = :b",
            {("missing", 2)},
        ),
        (SWAP, {("link_wrong", "a"), ("link_wrong", "b")}),
        (FORGE, {("position_taken", "new"), ("digest_wrong", "new")}),
        ("DELETE FROM receipts WHERE operation_id = :d; DELETE FROM operations WHERE id = :d", {("missing", 4)}),
        (CUT + MEND_HEAD, {("missing", "d")}),
        ("UPDATE operations SET sent = 'not_sent' WHERE id = :b", {("row_differs", "b")}),
        ("UPDATE operations SET state = 'failed', code = 'tls_error' WHERE id = :b", {("row_differs", "b")}),
        ("UPDATE operations SET run = 'elsewhere' WHERE id = :b", {("row_differs", "b")}),
        ("DELETE FROM operations WHERE id = :b", {("row_missing", "b")}),
        ("DELETE FROM chains", {("head_missing", None)}),
    ],
    ids=[
        "one-byte-edited",
        "body-and-digest-edited",
        "receipt-removed",
        "receipt-and-operation-removed",
        "two-swapped",
        "one-forged",
        "tail-cut",
        "tail-cut-and-head-mended",
        "sent-altered",
        "state-altered",
        "moved-to-another-run",
        "operation-removed",
        "head-removed",
    ],
)
def test_verify_names_what_was_altered_and_ends_with_3(
    run_of_four, ledger, ledger_url, home: Path, statements, expected
):
    names = run_of_four | {"new": str(uuid4())}
    tamper(ledger, statements, **names)

    code, told = verify(ledger_url, home, "--run", "r", "--project", "p")

    assert code == 3
    assert {(fault, names.get(who, who)) for fault, who in expected} <= named(told)
    assert told["right"] is False


def test_verify_of_an_id_names_it_when_its_receipt_was_removed(run_of_four, ledger, ledger_url, home: Path):
    tamper(ledger, "DELETE FROM receipts WHERE operation_id = :b", **run_of_four)

    ended = outrider("receipt", "verify", run_of_four["b"], home=home, OUTRIDER_DATABASE_URL=ledger_url)

    assert ended.returncode == 3
    assert f"WRONG  {run_of_four['b']}: the operation has ended, and its receipt is gone (missing)" in ended.stdout


@pytest.mark.parametrize("words", [(), ("--run", "r", "x"), ("--run", "r", "--file", "x")])
def test_verify_is_used_wrongly_when_not_one_thing_is_named(words, home: Path):
    ended = outrider("receipt", "verify", *words, home=home)
    assert (ended.returncode, ended.stdout) == (1, "")


def test_verify_ends_with_3_when_there_is_nothing_to_verify(ledger, ledger_url, home: Path):
    save_project(ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    pending = admit(ledger, request(profile=WIDE)).operation_id
    for words in (["--run", "r", "--project", "p"], [pending], [str(uuid4())], ["x"]):
        assert verify(ledger_url, home, *words) == (3, None)


def test_an_exported_run_verifies_without_a_database_and_its_altered_copy_does_not(run_of_four, ledger_url, home: Path):
    home.mkdir()
    out, lines = home / "r.jsonl", ["--run", "r", "--project", "p", "--out"]
    told = outrider("receipt", "export", *lines, str(out), home=home, OUTRIDER_DATABASE_URL=ledger_url)
    again = outrider("receipt", "export", *lines, str(out), home=home, OUTRIDER_DATABASE_URL=ledger_url)
    assert (told.returncode, again.returncode) == (0, 1), told.stderr

    away = "postgresql://nobody@127.0.0.1:1/nothing"
    code, whole = verify(away, home, "--file", str(out))
    assert (code, whole["right"], whole["receipts"]) == (0, True, 4)
    assert list(home.iterdir()) == [out]

    out.write_text(out.read_text().replace('wire_bytes\\":1234', 'wire_bytes\\":1235', 1))
    code, edited = verify(away, home, "--file", str(out))
    assert (code, named(edited)) == (3, {("digest_wrong", run_of_four["a"])})

    out.write_text(out.read_text().replace('"position":2', '"position": 2'))
    assert verify(away, home, "--file", str(out)) == (3, None)
    assert verify(away, home, "--file", str(home / "none")) == (1, None)


def test_an_exported_run_is_signed_when_the_deployment_has_a_key(run_of_four, ledger_url, home: Path):
    home.mkdir()
    key, out = home / "sign.pem", home / "r.jsonl"
    key.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    words = ("receipt", "export", "--run", "r", "--project", "p", "--out", str(out))
    told = outrider(*words, home=home, OUTRIDER_DATABASE_URL=ledger_url, OUTRIDER_SIGN_KEY=str(key))
    signer = told.stderr.split("signed with the key ")[1].split()[0]

    assert told.returncode == 0
    assert verify("", home, "--file", str(out), "--signer", signer)[0] == 0
    code, found = verify("", home, "--file", str(out), "--signer", "somebody else")
    assert (code, named(found)) == (3, {("signature_wrong", None)})
    away = outrider(*words, home=home, OUTRIDER_DATABASE_URL=ledger_url, OUTRIDER_SIGN_KEY=str(home / "none"))
    assert away.returncode == 1


def test_an_exported_run_can_be_checked_with_nothing_but_sha_256(run_of_four, ledger_url, home: Path):
    """The byte form, written a second time from its description."""

    def digest(said):
        return f"sha-256=:{b64encode(sha256(said.encode()).digest()).decode()}:"

    home.mkdir()
    out = home / "r.jsonl"
    words = ("--run", "r", "--project", "p", "--out", str(out))
    assert outrider("receipt", "export", *words, home=home, OUTRIDER_DATABASE_URL=ledger_url).returncode == 0
    first, *rest = map(json.loads, out.read_text().splitlines())

    link = digest('{"chain":"outrider/1","project":"p","run":"r"}')
    for position, receipt in enumerate(rest, start=1):
        assert receipt["position"] == position
        assert receipt["digest"] == digest(receipt["body"])
        link = digest(link + receipt["digest"])
        assert receipt["link"] == link
    assert (first["head"], first["length"]) == (link, 4)
