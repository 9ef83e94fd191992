"""The fleet's settings: what a process would run with, read in a process of its own for each deployment."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.promises import PromiseBroken, check_order
from schemas.profiles import PROFILES, WEB_FETCH

HOUSE = Path(__file__).resolve().parents[2]

LOOK = """
import json
from broker.app import app
connection = app.connection_for_write()
routes = {name: app.amqp.router.route({}, name)["queue"].name for name in ("web_fetch", "finalize_stale", "unheard_of")}
print(json.dumps({
    "channel": str(connection.get_transport_cls().Channel),
    "queues": {queue.name: queue.routing_key for queue in app.conf.task_queues},
    "routes": routes,
    "late": app.conf.task_acks_late,
    "result": app.conf.result_backend,
    "accept": app.conf.accept_content,
    "expires": app.conf.result_expires,
}))
"""


def settings_of(**environment: str) -> dict[str, Any]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
    found = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=HOUSE, env=clean | environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    parsed: dict[str, Any] = json.loads(found.stdout)
    return parsed


@pytest.mark.parametrize("url", ["redis://h:6379/0", "rediss://h:6379/0", "redis+socket:///run/broker.sock"])
def test_broker_restart_is_survived_whatever_the_url_looks_like(url: str) -> None:
    """Celery 5.7.0 exits at a broker's restart without our channel, and kombu ignores broker_transport for sockets."""
    assert settings_of(OUTRIDER_BROKER_URL=url)["channel"] == "<class 'broker.carrier.Channel'>"


def test_delivery_is_late_json_only_and_each_queue_has_its_own_key() -> None:
    found = settings_of(OUTRIDER_BROKER_URL="redis://h/0")
    assert (found["late"], found["accept"], found["expires"]) == (True, ["json"], 300)
    assert found["queues"] == {name: name for name in ("search", "fetch", "models", "care", "celery")}
    assert found["routes"] == {"web_fetch": "fetch", "finalize_stale": "care", "unheard_of": "celery"}


def test_replies_wait_at_the_broker_unless_said_otherwise() -> None:
    assert settings_of(OUTRIDER_BROKER_URL="redis://h/0")["result"] == "redis://h/0"
    found = settings_of(OUTRIDER_BROKER_URL="redis://h/0", OUTRIDER_RESULT_URL="redis://other/1")
    assert found["result"] == "redis://other/1"


def test_importing_the_app_needs_no_environment() -> None:
    """M156: nothing is read until it is used; then the error says what to do."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
    found = subprocess.run(
        [sys.executable, "-c", "from broker.app import app; print('imported'); app.conf.broker_url"],
        cwd=HOUSE,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == "imported"
    assert "outrider up" in found.stderr


@pytest.mark.parametrize(
    ("lease", "redelivery", "holds"),
    [(31, 90, True), (30, 90, False), (45, 46, True), (45, 45, False)],
    ids=["C11-lease-over", "C11-lease-at-deadline", "C11-redelivery-over", "C11-redelivery-at-lease"],
)
def test_deadline_lease_and_redelivery_are_in_order(lease: float, redelivery: float, *, holds: bool) -> None:
    """C11: deadline < lease < redelivery timeout, checked before a worker serves."""
    profile = replace(WEB_FETCH, limits=replace(WEB_FETCH.limits, lease_seconds=lease))
    if holds:
        check_order((profile,), redelivery)
    else:
        with pytest.raises(PromiseBroken, match="web_fetch"):
            check_order((profile,), redelivery)


def test_every_shipped_profile_keeps_the_order() -> None:
    check_order(PROFILES, 90)
