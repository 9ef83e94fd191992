"""`outrider truth` and the export of receipts as WARC: through the command, read back by another's reader."""

import json
from base64 import b32encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from broker.ledger.operations import admit, settle
from broker.ledger.truth_folders import open_folder
from schemas.folder import Folder
from schemas.operation import Ending, OperationState
from schemas.receipt import canonical, digest_of
from tests.ledger_calls import run_sql
from tests.ops.running import outrider
from tests.truth_runs import fetch_request, stored, tamper

TEXT = "Basalt is old. \U0001f319"
CLAIM = {"claim_id": "c1", "proposition": "It is basalt.", "claim_kind": "factual"}
HOPS = [
    {"number": 1, "url": "https://first.example/", "origin": "https://first.example", "peer": "93.184.215.14",
     "sent": "sent", "started_at": "2026-11-30T12:00:00.000+00:00", "body": "none", "status": 302},
    {"number": 2, "url": "https://good.example/a?q=1", "origin": "https://good.example", "peer": "2606:2800::6",
     "sent": "sent", "started_at": "2026-11-30T12:00:01.000+00:00", "body": "complete", "status": 200},
]  # fmt: skip


def told(one: Any, lease: Any, **body: Any) -> Ending:
    """The account of a truth fetch, as its worker writes it."""
    names = {"agent": one.context.agent, "arguments_sha256": one.arguments_digest, "call": one.key}
    names |= {"operation": lease.operation_id, "project": one.context.project, "run": one.context.run}
    names |= {"step": one.context.step, "tool": one.tool.name, "sent": "sent", "error": body.pop("error", None)}
    state = "completed" if names["error"] is None else "failed"
    text = canonical(names | {"admitted_at": "2026-11-30T12:00:00.000+00:00", "state": state} | body)
    code = None if names["error"] is None else names["error"]["code"]
    return Ending(state=OperationState(state), code=code, sent="sent", body=text, digest=digest_of(text))


def value(*, truncated: bool) -> dict[str, Any]:
    return {
        "exact_text": TEXT,
        "source_url": "https://good.example/a?q=1",
        "acquired_at": "2026-11-30T12:00:02.000+00:00",
        "acquisition_metadata": {"text_truncated": truncated},
    }


@pytest.fixture
def run_of_three(ledger):
    """A run with a whole text, a cut one, and a fetch that outgrew its bound."""
    run = stored(ledger)
    large = [HOPS[0] | {"body": "over_limit", "code": "response_too_large"}]
    failure = {"code": "response_too_large", "message": "Too large.", "facts": {}}
    accounts = [
        {"hops": HOPS, "value": value(truncated=False)},
        {"hops": HOPS[1:], "value": value(truncated=True)},
        {"hops": large, "error": failure},
    ]
    for number, account in enumerate(accounts):
        one = fetch_request(run, f"h{number}")
        lease = admit(ledger, one)
        settle(ledger, lease, told(one, lease, **account))
    return run


def command(url: str, home: Path, *words: str) -> Any:
    return outrider(*words, home=home, OUTRIDER_DATABASE_URL=url)


def records(file: Path) -> list[dict[str, Any]]:
    """The file as warcio reads it, digests checked."""
    from warcio.archiveiterator import ArchiveIterator

    found = []
    with file.open("rb") as source:
        for record in ArchiveIterator(source, check_digests="raise"):
            content = record.content_stream().read()
            found.append({"kind": record.rec_type, "headers": dict(record.rec_headers.headers), "content": content})
    return found


def test_run_s_receipts_go_to_warc_and_back(ledger, ledger_url, tmp_path, run_of_three) -> None:
    """X9: version, pinned addresses, digests and truncation, read back by warcio; the same run gives the same file."""
    out, again = tmp_path / "run.warc", tmp_path / "again.warc"
    for file in (out, again):
        words = (
            "receipt",
            "export",
            "--run",
            run_of_three.id,
            "--project",
            "p",
            "--format",
            "warc",
            "--out",
            str(file),
        )
        ended = command(ledger_url, tmp_path, *words)
        assert ended.returncode == 0, ended.stderr
    assert out.read_bytes() == again.read_bytes()
    assert out.read_bytes().startswith(b"WARC/1.1\r\n")

    found = records(out)
    kinds = ["warcinfo", "metadata", "metadata", "metadata", "conversion", "metadata", "metadata", "conversion"]
    assert [one["kind"] for one in found] == [*kinds, "metadata", "metadata"]
    bodies = [body for (body,) in run_sql(ledger, "SELECT body FROM receipts ORDER BY position")]
    assert [one["content"].decode() for one in (found[1], found[5], found[8])] == bodies
    hops = [found[number]["headers"] for number in (2, 3, 6, 9)]
    assert [hop["WARC-IP-Address"] for hop in hops] == [
        "93.184.215.14",
        "2606:2800::6",
        "2606:2800::6",
        "93.184.215.14",
    ]
    assert [hop["WARC-Target-URI"] for hop in hops[:2]] == [hop["url"] for hop in HOPS]
    assert [hop.get("WARC-Truncated") for hop in hops] == [None, None, None, "length"]
    texts = [found[number] for number in (4, 7)]
    assert [one["content"].decode() for one in texts] == [TEXT, TEXT]
    assert [one["headers"].get("WARC-Truncated") for one in texts] == [None, "length"]
    assert texts[0]["headers"]["WARC-Refers-To"] == found[1]["headers"]["WARC-Record-ID"]
    digest = f"sha256:{b32encode(sha256(TEXT.encode()).digest()).decode()}"
    assert texts[0]["headers"]["WARC-Payload-Digest"] == texts[0]["headers"]["WARC-Block-Digest"] == digest


def test_altered_receipts_are_written_as_they_are_and_said_to_be_wrong(
    ledger, ledger_url, tmp_path, run_of_three
) -> None:
    """X8, X9: exit code 3, and the file holds the very bytes."""
    tamper(ledger, "UPDATE receipts SET body = 'no json' WHERE position = 2")
    out = tmp_path / "run.warc"
    words = ("receipt", "export", "--run", run_of_three.id, "--project", "p", "--format", "warc", "--out", str(out))
    ended = command(ledger_url, tmp_path, *words)
    assert ended.returncode == 3
    assert [one["content"] for one in records(out)].count(b"no json") == 1


def test_truth_receipts_are_shown_and_verified(ledger, ledger_url, tmp_path, run_of_three) -> None:
    """X8, M64: the receipt's very bytes, with its text; one altered letter of the text is found."""
    [operation] = run_sql(ledger, "SELECT id::text FROM operations ORDER BY key LIMIT 1")[0]
    shown = command(ledger_url, tmp_path, "receipt", "show", operation, "--json")
    assert json.loads(shown.stdout)["value"]["exact_text"] == TEXT
    whole = command(ledger_url, tmp_path, "receipt", "verify", "--run", run_of_three.id, "--project", "p")
    assert whole.returncode == 0, whole.stderr
    tamper(ledger, "UPDATE receipts SET body = replace(body, 'Basalt', 'Cheese') WHERE position = 1")
    altered = command(ledger_url, tmp_path, "receipt", "verify", operation, "--json")
    assert altered.returncode == 3
    assert {one["fault"] for one in json.loads(altered.stdout)["findings"]} >= {"digest_wrong"}


def test_folder_is_imported_from_a_file(ledger, ledger_url, tmp_path) -> None:
    """M18: what runs read; the same file again makes no other snapshot."""
    file = tmp_path / "moon.json"
    file.write_text(json.dumps({"claims": [CLAIM], "receipts": []}))
    for _ in range(2):
        ended = command(ledger_url, tmp_path, "truth", "import", str(file), "--folder", "moon", "--project", "p")
        assert (ended.returncode, ended.stdout.strip()) == (0, "moon: snapshot 1, 1 claims, 0 receipts")
    assert open_folder(ledger, "p", "moon").read(1) == Folder.model_validate_json(json.dumps({"claims": [CLAIM]}))


@pytest.mark.parametrize(
    "content",
    ["no json", '{"claims": [{"claim_id": "c1"}]}', json.dumps({"claims": [CLAIM, CLAIM]}), '{"notes": []}', None],
)
def test_file_that_is_no_folder_is_told_without_its_words(ledger, ledger_url, tmp_path, content: str | None) -> None:
    file = tmp_path / "moon.json"
    if content is not None:
        file.write_text(content)
    ended = command(ledger_url, tmp_path, "truth", "import", str(file), "--folder", "moon")
    assert ended.returncode == 1
    assert str(file) in ended.stderr
    assert "basalt" not in ended.stderr
    assert run_sql(ledger, "TABLE truth_folders") == []
