"""How causes are read off a worker's diary and the blows."""

from pathlib import Path

import pytest

from tests.faults.causes import Run, cause, runs
from tests.faults.history import Entry
from tests.faults.nemesis import Struck

END = {"state": "outcome_unknown", "admitted_at": 100.0, "lease_until": 106.0, "code": "x", "sent": "unknown"}
ASKING, TRANSFER, SETTLING = 0, 4, 6


def diary(folder: Path, *lines: str) -> Path:
    path = folder / "steps"
    path.write_text("\n".join(f"{n} {line}" for n, line in enumerate(lines)))
    return path


def test_diary_is_read_as_the_runs_of_its_threads(tmp_path: Path) -> None:
    path = diary(
        tmp_path,
        "7 - broker recv after",
        "8 a celery task_prerun",
        "9 b celery task_prerun",
        "8 a sql ledger_admit before",
        "9 b sql ledger_admit before",
        "9 b sql ledger_admit after",
        "9 b curl request out",
        "9 b curl header after",
        "8 a celery task_postrun",
        "8 a celery task_prerun",
        "9 b cur",
    )
    assert runs(path) == [Run("a", ASKING, over=True), Run("b", TRANSFER), Run("a")]
    assert runs(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("own", "struck", "end", "said"),
    [
        ([], [], END, "its messages reached no worker in time"),
        ([Run("a", TRANSFER)], [], END, "worker killed, in transfer"),
        (
            [Run("a", SETTLING, over=True)],
            [
                Struck("broker killed", 99, 101),
                Struck("postgres stopped", 103, 103.1),
                Struck("postgres silent", 105, 114),
                Struck("worker frozen", 120, 140),
            ],
            END,
            "postgres silent, settling",
        ),
        (
            [Run("a", ASKING, over=True), Run("a", SETTLING, over=True)],
            [Struck("worker frozen", 90, 99.9), Struck("broker flushed", 101, 101)],
            END | {"state": "failed", "code": "request_timeout", "sent": "not_sent"},
            "broker flushed, settling: request_timeout, not_sent",
        ),
        ([Run("a", SETTLING, over=True)], [], END, "no blow, settling"),
    ],
)
def test_cause_is_the_blow_that_the_lease_s_holder_met(
    own: list[Run], struck: list[Struck], end: Entry, said: str
) -> None:
    assert cause(end, own, struck) == said
