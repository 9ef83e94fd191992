"""`python -m tests.faults.crashing_worker`: real workers that are struck at their k-th step.

A launcher that loads everything once and then forks one worker for each line of JSON on its stdin; stdout tells when it
began and how it ended. What is struck is the worker itself, or a store it speaks to: `victim` is a pid, 0 the worker.
The profile's lease and the broker's visibility are shortened here, around the product.
"""

import dataclasses
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from schemas import profiles
from tests.faults.terms import DEADLINE_SECONDS, LEASE_SECONDS

_limits = dataclasses.replace(profiles.WEB_FETCH.limits, lease_seconds=LEASE_SECONDS, deadline_seconds=DEADLINE_SECONDS)
profiles.WEB_FETCH = dataclasses.replace(profiles.WEB_FETCH, limits=_limits)
profiles.PROFILES = (profiles.WEB_FETCH,)


def main() -> int:
    """Fork a worker for each wish; give the exit status of the worker, in the worker."""
    from broker.app import app

    app.loader.import_default_modules()
    while line := sys.stdin.readline():
        wish = json.loads(line)
        pid = os.fork()
        if pid == 0:
            return _work(app, wish)
        _tell({"pid": pid})
        _await(pid)
    return 0


def _await(pid: int) -> None:
    """Tell how the worker ended; end it when nobody listens any more."""
    handle = os.pidfd_open(pid)
    ready, _, _ = select.select([handle, sys.stdin], [], [])
    if handle not in ready:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    with suppress(ProcessLookupError):  # what the worker left: extraction processes
        os.killpg(pid, signal.SIGKILL)
    _tell({"ended": os.waitstatus_to_exitcode(status)})


def _tell(fact: dict[str, int]) -> None:
    os.write(1, json.dumps(fact).encode() + b"\n")


def _work(app: Any, wish: dict[str, Any]) -> int:
    from celery import signals

    import broker
    from tests.faults.history import History
    from tests.faults.steps import Steps, watch

    os.setsid()
    log = os.open(wish["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    history = History(Path(wish["history"]))
    history.note("life", pid=os.getpid(), house=str(Path(broker.__file__).parents[1]))
    signals.task_prerun.connect(lambda task_id, **_: history.note("delivery", task=task_id), weak=False)
    signals.task_postrun.connect(lambda **told: _note_verdict(history, told), weak=False)
    diary = os.open(wish["steps"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    watch(Steps(wish["at"], lambda: _strike(wish["victim"], wish["signal"]), diary), drain=wish["drain"])
    options = app.conf.broker_transport_options
    app.conf.broker_transport_options = options | {
        "visibility_timeout": wish["visibility"],
        "unacked_restore_interval": 1,
    }
    app.worker_main(["worker", *wish["words"]])
    return 0


def _note_verdict(history: Any, told: dict[str, Any]) -> None:
    envelope = told["retval"] if isinstance(told["retval"], dict) else {}
    facts = {name: envelope.get(name) for name in ("outcome", "operation", "replayed")}
    history.note("verdict", task=told["task_id"], state=told["state"], pid=os.getpid(), **facts)


def _strike(victim: int, number: int) -> None:
    """The blow. A store is gone when this returns, so that the next step meets its absence."""
    if victim == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(victim, number)
    until = time.monotonic() + 10
    while _runs(victim) and time.monotonic() < until:
        time.sleep(0.005)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
