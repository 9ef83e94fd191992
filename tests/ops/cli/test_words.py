"""What the command line says, without any stack."""

import json

import pytest

from ops.cli.calls import Format, receipt_line, text_of
from ops.cli.carrying import Answer
from ops.cli.printing import exit_code, plain
from ops.cli.progress import sentence
from ops.cli.run import run
from ops.cli.serving import without_password

COMMANDS = [
    ("fetch",),
    ("search",),
    ("call",),
    ("extract",),
    ("up",),
    ("drain",),
    ("status",),
    ("metrics",),
    ("doctor",),
    ("migrate",),
    ("project", "set"),
    ("project", "show"),
    ("project", "tools"),
    ("token", "create"),
    ("token", "list"),
    ("token", "revoke"),
    ("receipt", "show"),
]


def envelope(outcome: str, code: str | None = None) -> dict[str, object]:
    return {"outcome": outcome, "error": None if code is None else {"code": code}, "receipt": None}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_teaches_by_an_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    assert f"outrider {' '.join(words)}" in " ".join(capsys.readouterr().out.split("Example:")[1].split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fetch"], "Missing argument"),
        (["fetch", "https://example.com/", "--nope"], "No such option"),
        (["fetch", "https://example.com/", "--offset", "x"], "valid integer"),
        (["fetch", "https://example.com/", "--format", "pdf"], "pdf"),
        (["call", "web_fetch", "--arguments", "{"], "is not JSON"),
        (["call", "web_fetch", "--arguments", "[]"], "must be a JSON object"),
        (["call", "no_such_tool", "--arguments", "{}"], "web_fetch, web_search"),
        (["nothing_like_it"], "No such command"),
        (["project", "show", "bad id!"], "'bad id!' is no id"),
        (["project", "set", "bad id!", "--enabled"], "'bad id!' is no id"),
        (["project", "set", "-p", "--enabled"], "No such option"),
        (["project", "set", "p" * 129, "--enabled"], "128 at most"),
        (["project", "set", "research", "--agents", "designer,bad agent"], "'bad agent' is no id"),
        (["project", "set", "research"], "nothing to save"),
        (["project", "tools", "research", "designer", "--only", "shell"], "'shell' is none of"),
        (["token", "create", "alice", "--permission", "root"], "'root' is no permission"),
        (["token", "create", "alice", "--expires", "0d"], "'0d' is no time to live"),
        (["token", "create", "alice", "--expires", "367d"], "'367d' is no time to live"),
        (["token", "create", "no name"], "'no name' is no id"),
        (["token", "create", "alice", "--project", "*"], "'*' is no id"),
    ],
)
def test_a_wrong_use_is_never_taken_for_a_refusal(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        ("completed", None, 0),
        ("refused", "blocked_address", 2),
        ("failed", "http_error", 3),
        ("unknown", "research_outcome_unknown", 4),
        ("cancelled", "cancelled", 4),
        ("failed", "internal", 1),
        ("refused", "internal", 1),
    ],
)
def test_the_exit_code_tells_the_outcome(outcome: str, code: str | None, expected: int) -> None:
    assert exit_code(envelope(outcome, code)) == expected


@pytest.mark.parametrize(
    "hostile",
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202egnp.exe", "\u2066x\u2069", "\r", "\x00", "\x7f"],
    ids=["clear", "title", "c1", "right_to_left", "isolate", "return", "null", "delete"],
)
def test_a_page_cannot_speak_to_the_terminal(hostile: str) -> None:
    shown = plain(f"before{hostile}after\tand\nmore")
    assert not any(mark in shown for mark in "\x1b\x9b\x07\r\x00\x7f\u202e\u2066\u2069")
    assert shown.endswith("after\tand\nmore")


@pytest.mark.parametrize(
    ("stage", "facts", "expected"),
    [
        ("queued", {}, "queued"),
        ("resolving", {"host": "example.com"}, "resolving example.com"),
        ("receiving", {"host": "example.com", "bytes": 12_345}, "receiving from example.com, 12,345 bytes"),
        ("a_newer_stage", {}, "a_newer_stage"),
    ],
)
def test_progress_is_told_in_words(stage: str, facts: dict[str, object], expected: str) -> None:
    assert sentence(stage, facts) == expected


def test_the_receipt_line_names_operation_digest_host_bytes_and_time() -> None:
    hops = [{"origin": "https://a.example", "wire_bytes": 500}, {"origin": "https://b.example", "wire_bytes": 1_000}]
    told = envelope("completed") | {"receipt": {"id": "op-1", "sent": "sent", "digest": "sha-256=:x:"}}
    line = receipt_line(Answer(told, receipt=json.dumps({"hops": hops, "milliseconds": 12.3})))
    assert line == "receipt: op-1 · sent · sha-256=:x: · b.example · 1,500 bytes · 12 ms"


@pytest.mark.parametrize("outcome", ["refused", "cancelled", "unknown", "failed"])
def test_a_call_without_a_receipt_says_so(outcome: str) -> None:
    assert receipt_line(Answer(envelope(outcome))).startswith("receipt: none; ")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:secret@host:6379/0", "redis://@host:6379/0"),
        ("postgresql://me:secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:se@cret@host/db", "postgresql://me@host/db"),
        ("redis+socket:///run/broker.sock", "redis+socket:///run/broker.sock"),
    ],
)
def test_a_shown_address_holds_no_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_text_is_markdown_read_aloud() -> None:
    value = {"content": "# Title\n\nA [link](https://example.com/) and **more**.\n\n- one\n- two\n"}
    text = text_of(value, Format.TEXT)
    assert "Title" in text
    assert "A link (https://example.com/) and more." in text
    assert "**" not in text
    assert text_of(value, Format.MARKDOWN) == value["content"]
    assert json.loads(text_of(value, Format.JSON)) == value
