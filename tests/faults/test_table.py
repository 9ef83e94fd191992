"""The table of faults, as a file."""

from pathlib import Path

from tests.faults.history import Entry
from tests.faults.lanes import Call
from tests.faults.table import Row, rows, write


def call(key: str, at: int | None, point: str) -> Call:
    return Call(key=key, project="p", target=f"/{key}", at=at, point=point)


def end(key: str, state: str, seconds: float) -> Entry:
    return {"kind": "terminal", "call": key, "state": state, "admitted_at": 100.0, "at": 100.0 + seconds}


def test_table_gathers_the_runs_of_a_point() -> None:
    calls = [call("a", 3, "sql"), call("b", 4, "sql"), call("c", 9, "sql"), call("d", None, "flushed")]
    said = [
        {"kind": "hit", "call": "a"},
        {"kind": "hit", "call": "d"},
        {"kind": "hit", "call": "d"},
        end("a", "completed", 0.5),
        end("b", "outcome_unknown", 7.0),
        end("c", "failed", 0.1) | {"code": "request_timeout"},
        end("d", "completed", 0.25),
    ]
    mixed = "1 completed, 1 failed (request_timeout), 1 outcome_unknown"
    assert rows(calls, said) == [
        Row(point="sql", runs=3, k="3-4, 9", egress=1, ends=mixed, seconds=7.0),
        Row(point="flushed", runs=1, k="", egress=2, ends="1 completed", seconds=0.25),
    ]


def test_table_keeps_the_sections_that_a_run_did_not_write(tmp_path: Path) -> None:
    path = tmp_path / "faults.md"
    row = Row(point="sql", egress=1, ends="1 completed", seconds=0.25)
    write(path, 6.0, {"worker killed": [row], "broker killed": [row]})
    write(path, 6.0, {"broker killed": [Row(point="send", egress=0, ends="1 outcome_unknown", seconds=7.0)]})
    assert path.read_text().count("# Faults") == 1
    assert path.read_text().partition("## ")[2].splitlines() == [
        "worker killed",
        "",
        "| point | runs | k | egress | ends | seconds to the end |",
        "| --- | --- | --- | --- | --- | --- |",
        "| sql | 1 |  | 1 | 1 completed | 0.2 |",
        "",
        "## broker killed",
        "",
        "| point | runs | k | egress | ends | seconds to the end |",
        "| --- | --- | --- | --- | --- | --- |",
        "| send | 1 |  | 0 | 1 outcome_unknown | 7.0 |",
    ]
