"""Children that are killed, outgrow their bounds or are closed under a call: the pool lives on (X7)."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from schemas.errors import ExtractionFailed
from tests.workers.extract.pooling import PATIENCE_SECONDS, SLOW, children, read_in, until_one_works
from workers.extract.pool import ExtractionPool

ROOT = Path(__file__).parents[3]
FLOOD = b"<p>ab</p>" * 400_000  # 3.6 MB that becomes a tree of over 100 MB


def test_pool_survives_a_child_that_is_killed_at_work():
    pool = ExtractionPool(1)
    try:
        read_in(pool, b"<p>warm")
        spent = children()[0].cpu_times().user
        with ThreadPoolExecutor(1) as threads:
            call = threads.submit(read_in, pool, SLOW)
            os.kill(until_one_works(spent + 0.1).pid, signal.SIGKILL)
            with pytest.raises(ExtractionFailed) as caught:
                call.result(PATIENCE_SECONDS)
        assert caught.value.facts == {"cause": "child_died"}
        assert read_in(pool, b"<p>alive").text == "alive"
    finally:
        pool.close()


def test_pool_survives_a_child_that_is_killed_at_rest():
    pool = ExtractionPool(1)
    try:
        read_in(pool, b"<p>warm")
        (child,) = children()
        child.kill()
        assert read_in(pool, b"<p>alive").text == "alive"
    finally:
        pool.close()


def test_pool_fails_a_page_that_outgrows_its_memory_and_lives_on():
    pool = ExtractionPool(1, memory_bytes=100 << 20)
    try:
        with pytest.raises(ExtractionFailed):
            read_in(pool, FLOOD)
        assert read_in(pool, b"<p>alive").text == "alive"
    finally:
        pool.close()


def test_pool_answers_waiting_and_later_calls_when_it_is_closed():
    pool = ExtractionPool(1)
    read_in(pool, b"<p>warm")
    spent = children()[0].cpu_times().user
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(read_in, pool, SLOW) for _ in range(2)]
        until_one_works(spent + 0.1)
        pool.close()
        for call in calls:
            with pytest.raises(ExtractionFailed):
                call.result(PATIENCE_SECONDS)

    with pytest.raises(ExtractionFailed):
        read_in(pool, b"<p>late")
    pool.close()


def test_pool_starts_no_process_before_it_is_used():
    pool = ExtractionPool(4)

    started = children()
    pool.close()

    assert started == []


def test_pool_ends_a_page_that_is_past_its_time_and_lives_on():
    pool = ExtractionPool(1, wall_seconds=0.2)
    try:
        with pytest.raises(ExtractionFailed) as caught:
            read_in(pool, SLOW)
        assert caught.value.facts == {"cause": "wall_clock"}
    finally:
        pool.close()


SCRIPT = """
import multiprocessing
from workers.extract.pool import ExtractionPool
from tests.workers.extract.pooling import read_in

if __name__ == "__main__":
    pool = ExtractionPool(2)
    read_in(pool, b"<p>text")
    print(*(child.pid for child in multiprocessing.active_children()))
"""


def test_pool_leaves_no_process_and_no_warning_when_its_owner_ends_without_closing_it(tmp_path):
    script = tmp_path / "owner.py"
    script.write_text(SCRIPT)

    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) == 2
    assert not [pid for pid in done.stdout.split() if psutil.pid_exists(int(pid))]
