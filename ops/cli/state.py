"""`outrider status`: what runs, who answers, what waits."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from broker import settings as configuration
from broker.settings import Settings
from ops.cli.printing import FAILED, give, give_json, leave, say
from ops.cli.serving import places
from ops.stack import home, sharing


def status(
    *,
    worker: Annotated[
        str | None, typer.Option(metavar="HOST", help="Only whether this worker, or those of this machine, take calls.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Show what runs: stores, workers, waiting messages, operations. Exit code 3 when nothing does.

    With --worker it is a probe for process managers: 0 ready, 3 draining or not there.

    Example: outrider status --json
    """
    settings = configuration.settings()
    found = sharing.find(settings)
    if found is not None and worker is not None:
        from ops.cli import draining  # noqa: PLC0415 - as below

        leave(draining.probe(found, worker, as_json=as_json))
    if found is None:
        said: dict[str, Any] = {"running": False, "home": str(settings.home)}
    else:
        said = {"running": True, "home": str(settings.home)} | _told(settings) | _seen(found)
    if as_json:
        give_json(said)
    elif found is None:
        say(f"nothing runs at {settings.home}: start it with `outrider up`")
    else:
        _show(said)
    if found is None or said["unreachable"]:
        leave(FAILED)


def _told(settings: Settings) -> dict[str, Any]:
    """What the owner says, where the stack is embedded."""
    state = home.read_state(settings.home)
    if state is None or sharing.find_external(settings) is not None:
        return {"owner": None, "phase": "external", "flower": None, "metrics": None, "admin": None, "gateway": None}
    urls = {"flower": state.flower_url, "metrics": state.metrics_url, "admin": state.admin_url}
    return {"owner": state.pid, "phase": state.phase, "gateway": state.gateway_url} | urls


def _seen(found: Settings) -> dict[str, Any]:
    from ops.cli import watching  # noqa: PLC0415 - Celery and the ledger, not needed to say that nothing runs

    return {"stores": places(found)} | asdict(watching.look(found))


def _show(said: dict[str, Any]) -> None:
    lines = {"owner": f"process {said['owner']} ({said['phase']})" if said["owner"] else "external stores"}
    for name, place in said["stores"].items():
        lines[name] = place + ("  NOT REACHABLE" if name in said["unreachable"] else "")
    lines["flower"] = said["flower"] or "not run"
    lines["metrics"] = said["metrics"] or "not run"
    lines["admin"] = said["admin"] or "not run"
    lines["gateway"] = said["gateway"] or "not run"
    lines["workers"] = ", ".join(said["workers"]) or "none answers"
    lines["waiting"] = ", ".join(f"{name} {count}" for name, count in said["queues"].items())
    if (counts := said["operations"]) is not None:
        lines["accepted"] = f"{counts['accepted']} waiting for a worker"
        lines["pending"] = f"{counts['pending']}, of them past their lease {counts['stale']}"
        lines["last hour"] = ", ".join(f"{state} {count}" for state, count in counts["ended"].items()) or "none ended"
    give(f"Outrider at {said['home']}")
    for name, words in lines.items():
        give(f"  {name:<10} {words}")
