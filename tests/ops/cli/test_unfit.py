"""What a deployment got wrong is told in a sentence that names it: no traceback, no value, exit code 1."""

import json
from pathlib import Path

import pytest

from tests.ops.running import outrider

CANARY = "canary-7f3a"
DEEP = '{"url": "u", "x": ' + "[" * 5_000 + "]" * 5_000 + "}"


@pytest.mark.parametrize(
    ("variable", "value", "command"),
    [
        ("ADMIN_PORT", CANARY, "up"),
        ("ADMIN_URL", f"ftp://{CANARY}", "up"),
        ("SEAL_KEY", CANARY, "status"),
        ("SEARCH_PROVIDER", CANARY, "doctor"),
        ("NAMESERVERS", CANARY, "doctor"),
        ("BROKER_URL", f"nonsense://{CANARY}", "status"),
        ("RESULT_URL", f"amqp://{CANARY}", "status"),
        ("DATABASE_URL", f"mysql://{CANARY}", "migrate"),
    ],
)
def test_unfit_setting_is_named_in_one_line(tmp_path: Path, variable: str, value: str, command: str) -> None:
    ended = outrider(command, home=tmp_path, **{f"OUTRIDER_{variable}": value})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1
    assert f"OUTRIDER_{variable}: " in ended.stderr
    assert CANARY not in ended.stderr


def test_stores_that_are_away_are_told_in_a_sentence(tmp_path: Path) -> None:
    ended = outrider("migrate", home=tmp_path, OUTRIDER_DATABASE_URL=f"postgresql://u:{CANARY}@127.0.0.1:1/x")
    assert ended.returncode == 1
    assert "outrider doctor" in ended.stderr
    assert [line for line in ended.stderr.splitlines() if "Traceback" in line or CANARY in line] == []


@pytest.mark.parametrize("option", ["--arguments", "--context"])
def test_json_nested_past_its_reader_is_a_wrong_use(tmp_path: Path, option: str) -> None:
    words = {"--arguments": json.dumps({"url": "https://good.example/"}), option: DEEP}
    ended = outrider("call", "web_fetch", *[word for pair in words.items() for word in pair], home=tmp_path)
    assert ended.returncode == 1
    assert option in ended.stderr
    assert "Traceback" not in ended.stderr
