"""`outrider up` and `outrider drain`: the whole stack in the foreground, and its orderly end."""

import os
import signal
import time
from typing import Annotated

import typer

from broker import settings as configuration
from broker.settings import Settings
from ops import flower
from ops.cli.printing import FAILED, OK, OURS, give, leave, say
from ops.stack import fleet, home, life, ports, sharing
from ops.stack.faults import StackError, StartInterrupted
from ops.stack.interrupts import Interrupts
from ops.stack.life import Plan, Stack
from ops.stack.listening import Entry

DRAIN_SECONDS = 90.0


def up(
    port_base: Annotated[
        int | None,
        typer.Option(
            help="First of four ports to listen on: Flower's, the pages', the metrics', the gateway's.",
            min=1024,
            max=65500,
        ),
    ] = None,
) -> None:
    """Run the whole stack in the foreground: PostgreSQL, Valkey, workers, beat, Flower, pages, metrics, gateway.

    What dies is started again. Ctrl-C drains: what was begun is finished first. Ctrl-C twice hurries.

    Example: outrider up --port-base 7000
    """
    settings = configuration.settings()
    entries = _entries(settings, port_base)
    with Interrupts() as interrupts:
        plan = _plan(settings, entries, interrupts)
        try:
            with life.run(plan) as stack:
                _show(stack, entries)
                while not interrupts.wait():
                    pass
                say("draining: what was begun is finished first; Ctrl-C again hurries")
        except StartInterrupted:
            say("interrupted while starting")
        except StackError as error:
            say(str(error))
            leave(OURS)
    say("drained")


def _plan(settings: Settings, entries: fleet.Entries, interrupts: Interrupts) -> Plan:
    return Plan(
        settings=settings,
        fleet=lambda place, environment: fleet.whole_fleet(place, environment, entries),
        prepare=sharing.make_current,
        say=say,
        asked=interrupts.asked,
        hurry=interrupts.hurry,
        flower_url=entries.flower.url,
        admin_url=entries.admin.url,
        metrics_url=entries.metrics.url,
        gateway_url=entries.gateway.url,
        serves=True,
    )


def _entries(settings: Settings, port_base: int | None) -> fleet.Entries:
    """Where each part listens: from `port_base` on, in this order, or at its own setting."""
    wanted = {
        "Flower listens on": settings.flower_port,
        "the admin pages are on": settings.admin_port,
        "Prometheus finds the metrics on": settings.metrics_port,
        "the gateway listens on": settings.gateway_port,
    }
    found = [
        _port(port_base + number if port_base else own, words) for number, (words, own) in enumerate(wanted.items())
    ]
    return fleet.Entries(
        flower=flower.make_entry(found[0]),
        admin=Entry(found[1], "/admin/"),
        metrics=Entry(found[2], "/metrics"),
        gateway=Entry(found[3], "/mcp"),
    )


def _port(wanted: int, words: str) -> int:
    port = ports.choose(wanted)
    if port != wanted:
        say(f"port {wanted} is taken: {words} {port} instead")
    return port


def _show(stack: Stack, entries: fleet.Entries) -> None:
    """Where everything is, and the password, once. Plain lines: addresses are there to be copied whole."""
    entry = entries.flower
    where = places(stack.settings) | {
        "flower": f"{entry.url}  user {flower.USER}, password {entry.password}",
        "admin": f"{entries.admin.url}  log in with a token: outrider token create NAME",
        "metrics": entries.metrics.url,
        "gateway": f"{entries.gateway.url}  MCP, with a token: outrider token create NAME --project local --agent cli",
    }
    give(f"Outrider at {stack.home.root}, logs in {stack.home.logs}")
    children = stack.supervisor.children
    for name in dict.fromkeys((*where, *children)):
        who = f"pid {children[name].pid}" if name in children else "external"
        give(f"  {name:<10} {who:<12} {where.get(name, '')}".rstrip())
    give("The password is for this start only. Next: `outrider fetch URL` in another terminal. Ctrl-C drains.")


def places(settings: Settings) -> dict[str, str]:
    """Where the stores are, without their passwords."""
    return {
        "postgres": without_password(settings.database_url),
        "broker": without_password(settings.broker_url),
        "results": without_password(settings.result_url),
    }


def without_password(url: str | None) -> str:
    """A URL that can be shown."""
    head, separator, rest = (url or "").rpartition("@")
    scheme, slashes, credentials = head.partition("://")
    user = credentials.partition(":")[0]
    return f"{scheme}{slashes}{user}{separator}{rest}"


def drain(
    host: Annotated[
        str | None, typer.Argument(help="A worker (worker-1@box), or a machine (box): all workers on it.")
    ] = None,
    *,
    seconds: Annotated[
        float, typer.Option("--timeout", help="Seconds to wait for the end; the draining goes on after it.", min=1)
    ] = DRAIN_SECONDS,
) -> None:
    """Finish what was begun, take nothing new, and end: the running stack, or the workers of HOST alone.

    With stores of your own (OUTRIDER_BROKER_URL), all workers that listen to them are asked where no HOST is named.
    Exit codes: 0 drained, 3 no such worker answers or not over in time, 1 the broker cannot be reached.

    Example: outrider drain worker-1@box --timeout 120
    """
    settings = configuration.settings()
    if host is not None or sharing.find_external(settings) is not None:
        found = sharing.find(settings)
        if found is None:
            say(f"nothing runs at {settings.home}")
            leave(FAILED)
        from ops.cli import draining  # noqa: PLC0415 - Celery, needed to speak to workers alone

        leave(draining.drain_workers(found, host, seconds))
    state = home.read_state(settings.home)
    if state is None:
        say("nothing is running here")
        leave(OK)
    elif not wait_for_end(settings, state, seconds):
        say(f"process {state.pid} is still draining after {seconds:.0f} s")
        leave(FAILED)
    say("drained")


def wait_for_end(settings: Settings, state: home.State, seconds: float) -> bool:
    """Ask the owner to end, and wait for it."""
    os.kill(state.pid, signal.SIGTERM)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = home.read_state(settings.home)
        if now is None or now.pid != state.pid:
            return True
        time.sleep(0.1)
    return False
