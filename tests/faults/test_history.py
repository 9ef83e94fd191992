"""The history checker is itself checked: a doctored history must not pass."""

import pytest

from tests.faults.history import Bounds, Breach, Entry, History, entries, judge

BOUNDS = Bounds(finalizer=5.0)


def history(**changes: object) -> list[Entry]:
    """A history of one call in which every promise is kept; a change replaces the entry of its kind."""
    honest = {
        "accepted": {},
        "delivery": {},
        "hit": {"at": 101.0},
        "terminal": {"at": 102.0, "lease_until": 106.0, "state": "completed", "sent": "sent", "digest": "d"},
        "read": {"digest": "d"},
        "reply": {"outcome": "completed"},
    }
    return [
        {"kind": kind, "call": "c", **facts, **one} for kind, facts in honest.items() for one in changes.get(kind, [{}])
    ]


def breaches(*, finalized: bool = False, **changes: object) -> list[str]:
    if finalized:
        changes.setdefault("terminal", [{"state": "outcome_unknown", "sent": "unknown", "at": 108.0}])
    return [breach.promise for breach in judge(history(**changes), BOUNDS)]


def test_judge_finds_nothing_in_an_honest_history() -> None:
    assert breaches() == []
    assert breaches(finalized=True) == []
    assert breaches(finalized=True, hit=[]) == []
    assert breaches(read=[{}, {}, {}]) == []


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"hit": [{}, {}]}, "at most one request"),
        ({"terminal": [{}, {}]}, "an end is written once"),
        ({"terminal": [{}, {"state": "outcome_unknown"}]}, "an end is written once"),
        ({"read": [{}, {"digest": "e"}]}, "a receipt never changes"),
        ({"terminal": [{"digest": "e"}]}, "a receipt never changes"),
        ({"terminal": []}, "every call ends"),
        ({"reply": []}, "every call is answered"),
        ({"accepted": []}, "nothing that nobody asked for"),
        ({"terminal": [{"sent": "not_sent"}]}, "what was sent is told"),
        ({"hit": []}, "what was not sent is told"),
        ({"hit": [{"at": 103.0}]}, "nothing is sent after the end"),
        ({"terminal": [{"at": 113.1}]}, "an end comes in time"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_judge_catches_a_doctored_history(changes: dict[str, object], promise: str) -> None:
    """X1: two hits, two ends, a changed receipt, a missing end, a lie about what was sent, an end too late."""
    assert breaches(**changes) == [promise]


@pytest.mark.parametrize(("at", "found"), [(112.9, []), (113.0, []), (113.1, ["an end comes in time"])])
def test_judge_bounds_the_end_by_lease_and_finalizer(at: float, found: list[str]) -> None:
    """Under, at, over: lease until 106, finalizer every 5 s, 2 s of grace."""
    assert breaches(terminal=[{"at": at}]) == found


def test_judge_allows_a_zombie_s_request_after_an_unknown_end() -> None:
    """X2: whoever was frozen between admission and its request may send it, once; the end says unknown."""
    assert breaches(finalized=True, hit=[{"at": 120.0}]) == []


def test_judge_names_the_call_and_what_it_saw(tmp_path) -> None:
    kept = History(tmp_path / "history.jsonl")
    for entry in history(hit=[{}, {}]):
        kept.note(**entry)
    kept.close()
    assert judge(entries(kept.path), BOUNDS) == [Breach("c", "at most one request", "2 hits")]
