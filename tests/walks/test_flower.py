"""Flower under load: a reply that nobody read yet, and a database file, hold no word of what was asked or found."""

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from celery import Celery

from ops.flower import USER
from ops.lab.control import LabControl
from ops.stack import life
from tests.fleet import HOUSE, Fleet, wait_until
from tests.stores import rows
from tests.walks.views import files, flower_page, flower_pages, store_text

SECONDS = 40.0


@contextmanager
def persistent_flower(fleet: Fleet, folder: Path) -> Iterator[str]:
    """A Flower that keeps a file, as a deployment may run one; gives its address with the password."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    password = secrets.token_urlsafe(16)
    words = f"--address=127.0.0.1 --port={port} --read_only=True --persistent=True --state_save_interval=200".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "ops.flower_app", "flower", *words, f"--db={folder / 'flower.db'}"],
        cwd=HOUSE,
        env=os.environ | life.environment(fleet.settings) | {"FLOWER_BASIC_AUTH": f"{USER}:{password}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"{port} {password}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def tasks_of(entry: str) -> str:
    """What it knows of tasks; nothing while it starts."""
    port, password = entry.split()
    proof = b64encode(f"{USER}:{password}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/tasks?limit=1000", headers={"Authorization": f"Basic {proof}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.read().decode()
    except OSError:
        return ""


def test_reply_that_nobody_read_yet_is_not_to_be_had_through_flower(fleet: Fleet, lab: LabControl, canary: str) -> None:
    """M157: the result store holds the page's text for its reader; whoever may look at Flower is not that reader."""
    lab.site("secretive.example", site="page", body=f"<p>{canary}text that is long enough to be read by anybody.</p>")
    handle = fleet.send(f"https://secretive.example/?q={canary}")
    wait_until(lambda: canary in store_text(fleet.settings.result_url), seconds=SECONDS, what="the reply is stored")
    wait_until(lambda: handle.task_id in flower_pages(fleet)["flower api/tasks"], what="Flower has heard of it")
    with pytest.raises(urllib.error.HTTPError) as refused:
        flower_page(fleet, f"api/task/result/{handle.task_id}")
    with refused.value:
        assert (refused.value.code, canary in refused.value.read().decode()) == (403, False)
    assert [name for name, text in flower_pages(fleet).items() if canary in text] == []
    assert canary in fleet.reply(handle)["value"]["content"]


def test_database_file_of_a_persistent_flower_holds_no_canary(
    fleet: Fleet, lab: LabControl, foreigner: Celery, canary: str, tmp_path: Path
) -> None:
    """Issue 4: our own calls, a producer that hides nothing, calls that are malformed, and a task that raises."""
    lab.site("secretive.example", site="page", body=f"<p>{canary}text that is long enough to be read by anybody.</p>")
    arguments = {"url": f"https://secretive.example/?q={canary}"}
    with persistent_flower(fleet, tmp_path) as entry:
        wait_until(lambda: tasks_of(entry), seconds=SECONDS, what="it answers")
        sent = [
            foreigner.send_task("web_fetch", kwargs={"arguments": arguments, "context": fleet.context(project=name)})
            for name in [fleet.project() for _ in range(8)]
        ]
        sent += [
            foreigner.send_task("web_fetch", args=[arguments]),
            foreigner.send_task("web_fetch", kwargs={"arguments": {canary: canary}, "context": {"x": canary}}),
            foreigner.send_task("finalize_stale", args=[canary], kwargs={canary: canary}),
            foreigner.send_task("celery.map", kwargs={"task": {"task": canary, "args": [canary]}, "it": [[canary]]}),
        ]
        assert [one.get(timeout=60)["outcome"] for one in sent[:10]] == ["completed"] * 8 + ["refused"] * 2
        assert fleet.fetch(f"https://secretive.example/{canary}")["outcome"] == "completed"
        wait_until(lambda: all(one.id in tasks_of(entry) for one in sent), seconds=SECONDS, what="it has heard of all")
        assert canary not in tasks_of(entry)
        time.sleep(0.5)  # two of its intervals: what it was told it has saved
    for one in sent:
        one.forget()
    kept = files(tmp_path)
    assert all(any(one.id in text for text in kept.values()) for one in sent)
    assert [name for name, text in kept.items() if canary in text] == []
    assert rows(fleet, "SELECT count(*) FROM requests") == [(0,)]
