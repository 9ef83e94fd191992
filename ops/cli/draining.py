"""Draining workers by remote control, and looking at one: what `outrider drain HOST` and `status --worker` do."""

import time
from collections.abc import Sequence
from typing import Any

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from broker import settings as configuration
from broker.app import app
from broker.settings import Settings
from ops.cli.printing import FAILED, OK, OURS, give, give_json, say
from ops.cli.watching import answering

ANSWER_SECONDS = 1.0
LOOK_SECONDS = 0.5
MISSED_LOOKS = 3  # a worker that did not answer so often in a row is gone: while it drains, its loop has little to do

_AWAY = (OperationalError, RedisError, OSError)
Standings = dict[str, dict[str, Any]]


def drain_workers(found: Settings, host: str | None, seconds: float) -> int:
    """Ask the workers of a host, or all, to finish and end; return when they have. Gives the exit code."""
    configuration.install(found)
    try:
        everybody = answering()
        names = tuple(name for name in everybody if host is None or belongs(name, host))
        if names:
            return _see_out(names, seconds)
    except _AWAY:
        say("the broker cannot be reached: see `outrider doctor`")
        return OURS
    if host is None:
        say("no worker answers: there is nothing to drain")
        return OK
    say(_nobody(host, everybody))
    return FAILED


def belongs(name: str, host: str) -> bool:
    """Whether a worker is this one, or runs on this host. Shape: a worker's name is NAME@HOST."""
    return host in (name, name.partition("@")[2])


def _nobody(host: str, everybody: Sequence[str]) -> str:
    """That there is no such worker, and which there are."""
    return f"no worker of {host} answers; those that do: {', '.join(everybody) or 'none'}"


def _see_out(names: Sequence[str], seconds: float) -> int:
    first = ask("drain", names)
    missed = dict.fromkeys(names, 0)
    running: dict[str, int] = {}
    until = time.monotonic() + seconds
    while missed and time.monotonic() < until:
        seen = ask("standing", tuple(missed))
        for name in tuple(missed):
            missed[name] = 0 if name in seen else missed[name] + 1
            if anew := name in seen and name in first and seen[name]["pid"] != first[name]["pid"]:
                say(f"{name}: drained, and started again by what watches over it")
            elif missed[name] >= MISSED_LOOKS:
                say(f"{name}: drained")
            elif name in seen and running.get(name) != seen[name]["running"]:
                running[name] = seen[name]["running"]
                say(f"{name}: takes no more calls, {running[name]} still running")
            if anew or missed[name] >= MISSED_LOOKS:
                del missed[name]
        time.sleep(LOOK_SECONDS)
    if missed:
        say(f"after {seconds:.0f} s still draining, and going on with it: {', '.join(missed)}")
    return FAILED if missed else OK


def ask(command: str, names: Sequence[str]) -> Standings:
    """What these workers answer to a command of `workers.door`. Raises: the broker's errors."""
    replies = app.control.broadcast(
        command, destination=list(names), reply=True, timeout=ANSWER_SECONDS, limit=len(names)
    )
    return {name: said for reply in replies or () for name, said in reply.items() if "ready" in said}


def probe(found: Settings, host: str, *, as_json: bool) -> int:
    """Say how the workers of a host stand: OK when each takes calls, FAILED when one drains or none answers."""
    configuration.install(found)
    try:
        everybody = answering()
        names = tuple(name for name in everybody if belongs(name, host))
        seen = ask("standing", names) if names else {}
    except _AWAY:
        everybody, seen = (), {}
        say("the broker cannot be reached: see `outrider doctor`")
    if as_json:
        give_json({"workers": seen})
    elif not seen:
        say(_nobody(host, everybody))
    else:
        for name, said in sorted(seen.items()):
            give(f"{name}: {'ready' if said['ready'] else 'draining'}, {said['running']} running")
    return OK if seen and all(said["ready"] for said in seen.values()) else FAILED
