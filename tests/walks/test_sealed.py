"""Sealed views: no query, URL, page text or secret is to be found anywhere once its reader has read it."""

import base64
import json
import re
import subprocess
import sys
import time
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from redis import Redis

from broker import intake
from ops.lab.control import LabControl
from tests.fleet import HOUSE, Fleet, wait_until
from tests.stores import rows
from tests.walks.views import database_text, seen_by_flower, views

SECONDS = 40.0  # the broker's file is compacted every 20 s


def leaks(fleet: Fleet, *words: str) -> list[str]:
    """The views in which any of the words is still to be seen, after what passes has had its time to pass."""
    until = time.monotonic() + SECONDS
    while True:
        found = [name for name, text in views(fleet).items() if any(word in text for word in words)]
        if not found or time.monotonic() > until:
            return found
        time.sleep(1)


def test_views_show_a_canary_that_is_not_hidden(fleet: Fleet, lab: LabControl, canary: str) -> None:
    """The sieve itself: a word that lies in a store, a table and a log is found there."""
    del lab
    store = Redis(unix_socket_path=fleet.settings.broker_url.removeprefix("redis+socket://"))
    store.set("sieve", base64.b64encode(f"x{canary}".encode() * 3))
    fleet.project()
    project = fleet.fetch("https://text.example/", context=fleet.context(project=f"p.{canary}"))
    assert project["error"]["code"] == "capability_disabled"
    (fleet.root / "log" / "sieve.log").write_text(canary)
    shown = views(fleet)
    assert canary in shown["broker"]
    assert canary in shown["logs"]
    store.delete("sieve")
    (fleet.root / "log" / "sieve.log").unlink()


def test_query_and_page_text_are_nowhere_once_the_reply_was_read(fleet: Fleet, lab: LabControl, canary: str) -> None:
    """M119, M157, C9: the URL's path and query, and the page's text and title, of a completed and a failed call."""
    page = f"<html><title>T{canary}title</title><body><p>{canary}text is here, and it is long enough to be read.</p>"
    lab.site("secretive.example", site="page", body=page)
    done = fleet.fetch(f"https://secretive.example/{canary}path?q={canary}query")
    failed = fleet.fetch(f"https://notfound.example/{canary}path?q={canary}query")
    refused = fleet.fetch(f"https://secretive.example/?token={canary}")
    assert canary in done["value"]["content"]
    assert (failed["error"]["code"], refused["error"]["code"]) == ("http_error", "secret_in_url")
    assert canary not in json.dumps([failed, refused])
    assert leaks(fleet, canary) == []


def test_search_s_words_and_results_are_nowhere_once_the_reply_was_read(
    fleet: Fleet, lab: LabControl, canary: str
) -> None:
    """M119, M141, M154, M157, C9: of a search that found, was blocked, was refused, and was accepted by the ledger."""
    done = fleet.search(f"{canary}query words")
    accepted = intake.submit(
        "web_search", {"query": f"{canary}accepted"}, fleet.context(project=fleet.project()), ledger=fleet.ledger
    )
    assert canary in fleet.reply(accepted)["value"]["results"][0]["title"]
    lab.site("html.duckduckgo.com", site="page", status=403, body=f"{canary}page")
    failed = fleet.search(f"{canary}blocked")
    lab.site("html.duckduckgo.com", site="redirect", to=f"https://good.example/{canary}")
    moved = fleet.search(f"{canary}moved")
    refused = fleet.search(f"{canary}{'x' * 500}")
    named = fleet.search("x", site=f"{canary}.local")
    assert canary in done["value"]["results"][0]["snippet"]
    codes = [one["error"]["code"] for one in (failed, moved, refused, named)]
    assert codes == ["source_blocked", "redirect_blocked", "query_too_long_for_provider", "invalid_arguments"]
    assert canary not in json.dumps([failed, moved, refused, named])
    assert leaks(fleet, canary) == []


def test_accepted_call_s_arguments_are_nowhere_while_it_waits_nor_after(
    fleet: Fleet, lab: LabControl, canary: str
) -> None:
    """M119, M154: the command's message carries an id alone, in the broker, its file, Flower and the ledger."""
    lab.site("secretive.example", site="page", body=f"<p>{canary}text that is long enough to be read by anybody.</p>")
    urls = [f"https://secretive.example/{canary}path?q={canary}query-{n}" for n in range(4)]
    workers = fleet.workers()
    for worker in workers:
        worker.suspend()  # the last wish of each takes one message; the others wait in the broker
    try:
        handles = [fleet.accept(url, context=fleet.context(project=fleet.project())) for url in urls[1:]]
        command = [sys.executable, "-m", "ops", "fetch", urls[0], "--json"]
        client = subprocess.Popen(
            command, cwd=HOUSE, env=fleet.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        waiting = "SELECT count(*) FROM operations WHERE state = 'accepted'"
        wait_until(lambda: rows(fleet, waiting) == [(4,)], seconds=40, what="four are accepted")
        wait_until(lambda: "accepted" in database_text(fleet), what="the ledger shows them")
        shown = views(fleet)
        assert any(str(handle.operation) in shown["broker"] for handle in handles)
        assert [name for name, text in shown.items() if canary in text] == []
    finally:
        for worker in workers:
            worker.resume()
    out, err = client.communicate(timeout=60)
    assert (client.returncode, canary in json.loads(out)["value"]["content"], canary in err) == (0, True, False)
    assert [fleet.reply(handle)["outcome"] for handle in handles] == ["completed"] * 3
    assert leaks(fleet, canary) == []


def test_foreign_producer_that_hides_nothing_leaks_nothing(
    fleet: Fleet, lab: LabControl, foreigner: Celery, canary: str
) -> None:
    """Its headers carry the arguments in clear; what the fleet shows of them is sealed on receipt."""
    lab.site("secretive.example", site="page", body=f"<p>{canary}text that is long enough to be read by anybody.</p>")
    arguments = {"url": f"https://secretive.example/?q={canary}"}
    sent = [
        foreigner.send_task("web_fetch", kwargs={"arguments": arguments, "context": fleet.context()}),
        foreigner.send_task("web_fetch", args=[arguments]),
        foreigner.send_task("web_fetch", kwargs={"arguments": {canary: canary}, "context": {"x": canary}}),
        foreigner.send_task("web_fetch", kwargs={"arguments": canary, "context": fleet.context()}),
    ]
    outcomes = [result.get(timeout=60)["outcome"] for result in sent]
    assert outcomes == ["completed", "refused", "refused", "refused"]
    for result in sent:
        result.forget()
    wait_until(lambda: seen_by_flower(fleet, sent[0].id), what="Flower has heard of the task")
    assert leaks(fleet, canary) == []


def test_messages_that_cannot_be_read_are_dropped_without_a_word_of_them(
    fleet: Fleet, lab: LabControl, foreigner: Celery, canary: str
) -> None:
    """Unknown tasks, broken bodies and no messages at all: the worker stays up and says no word of their content."""
    unknown = foreigner.send_task(
        "no_such_task", args=[canary], kwargs={"secret": canary}, argsrepr=canary, kwargsrepr=canary
    )
    store = Redis(unix_socket_path=fleet.settings.broker_url.removeprefix("redis+socket://"))
    headers = {"id": uuid4().hex, "task": "web_fetch", "argsrepr": canary, "kwargsrepr": canary, "lang": "py"}
    properties = {"delivery_info": {"exchange": "", "routing_key": "fetch"}, "body_encoding": "base64"}
    bodies = [
        ("application/json", "{" + canary, headers),
        ("application/json", json.dumps([canary]), headers),
        ("application/json", json.dumps({"hello": canary}), {}),
        ("application/x-python-serialize", canary, headers),
        ("text/plain", canary, headers | {"task": None}),
        ("application/json", json.dumps([[], {}, canary]), headers),
        ("application/json", json.dumps([{canary: 1}, [canary], {}]), headers),
        ("application/json", json.dumps([None, None, None]), headers),
        ("application/json", json.dumps([[], {}, {}]), {"task": "web_fetch", "argsrepr": canary}),
        ("application/json", json.dumps([[], {}, {}]), headers | {"eta": canary}),
        ("application/json", json.dumps([[], {}, {}]), headers | {"timelimit": canary}),
        ("application/json", json.dumps([[], {}, {}]), headers | {"retries": canary}),
        ("application/json", json.dumps([[], {}, {"callbacks": canary, "chain": canary}]), headers),
        ("application/json", json.dumps([[], {}, {}]), headers | {"id": "\ud800"}),
        ("application/json", f'[[], {{"arguments": {"[" * 990}{"]" * 990}, "context": {{}}}}, {{}}]', headers),
    ]
    for kind, body, said in bodies:
        message = {
            "body": base64.b64encode(body.encode()).decode(),
            "content-type": kind,
            "content-encoding": "utf-8",
            "headers": said,
            "properties": properties | {"delivery_tag": uuid4().hex, "correlation_id": uuid4().hex},
        }
        store.lpush("fetch", json.dumps(message))
    for item in (
        canary,
        f'["{canary}"]',
        "{}",
        json.dumps({"properties": canary}),
        json.dumps({"body": canary}),
        "\xff",
    ):
        store.lpush("fetch", item)
    pids = {process.pid for process in fleet.workers()}
    with pytest.raises(Exception, match="no_such_task"):
        unknown.get(timeout=30)
    unknown.forget()
    assert fleet.fetch("https://text.example/")["outcome"] == "completed"
    wait_until(lambda: store.llen("fetch") == 0 and store.hlen("unacked") == 0, seconds=20, what="nothing is left")
    assert {process.pid for process in fleet.workers()} == pids
    assert leaks(fleet, canary) == []
    del lab


def test_secret_of_the_stack_is_in_no_view(fleet: Fleet, lab: LabControl) -> None:
    """Flower's password, printed once on the terminal of `outrider up`, and the seal key are in no log and no store."""
    del lab
    words: Any = re.search(r"password (\S+)", fleet.log.read_text())
    key = (fleet.root / "seal.key").read_text().strip()
    shown = views(fleet) | {"logs": fleet.logs()}
    assert [name for name, text in shown.items() if words.group(1) in text or key in text] == []
    assert key not in fleet.log.read_text()
