"""`outrider up` and `outrider drain`: the whole stack in the foreground, and its orderly end."""

import os
import signal
import time
from typing import Annotated

import typer

from broker import settings as configuration
from broker.settings import Settings
from ops import flower
from ops.cli.printing import OK, OURS, give, leave, say
from ops.metrics import part as metrics
from ops.stack import fleet, home, life, ports, sharing
from ops.stack.faults import StackError, StartInterrupted
from ops.stack.interrupts import Interrupts
from ops.stack.life import Plan, Stack

DRAIN_SECONDS = 90.0


def up(
    port_base: Annotated[
        int | None,
        typer.Option(
            help="First of the ports to listen on: Flower takes it, the metrics the third.", min=1024, max=65500
        ),
    ] = None,
) -> None:
    """Run the whole stack in the foreground: PostgreSQL, Valkey, workers, beat, Flower and the metrics.

    What dies is started again. Ctrl-C drains: what was begun is finished first. Ctrl-C twice hurries.

    Example: outrider up --port-base 7000
    """
    settings = configuration.settings()
    wanted = port_base or settings.flower_port
    entry = flower.make_entry(wanted)
    if entry.port != wanted:
        say(f"port {wanted} is taken: Flower listens on {entry.port} instead")
    metrics_port = _metrics_port(settings, port_base)
    with Interrupts() as interrupts:
        plan = _plan(settings, entry, metrics_port, interrupts)
        try:
            with life.run(plan) as stack:
                _show(stack, entry, metrics.url(metrics_port))
                while not interrupts.wait():
                    pass
                say("draining: what was begun is finished first; Ctrl-C again hurries")
        except StartInterrupted:
            say("interrupted while starting")
        except StackError as error:
            say(str(error))
            leave(OURS)
    say("drained")


def _plan(settings: Settings, entry: flower.Entry, metrics_port: int, interrupts: Interrupts) -> Plan:
    return Plan(
        settings=settings,
        fleet=lambda place, environment: fleet.whole_fleet(place, environment, entry, metrics_port),
        prepare=sharing.make_current,
        say=say,
        asked=interrupts.asked,
        hurry=interrupts.hurry,
        flower_url=entry.url,
        metrics_url=metrics.url(metrics_port),
        serves=True,
    )


def _metrics_port(settings: Settings, port_base: int | None) -> int:
    wanted = port_base + 2 if port_base else settings.metrics_port
    port = ports.choose(wanted)
    if port != wanted:
        say(f"port {wanted} is taken: Prometheus finds the metrics on {port} instead")
    return port


def _show(stack: Stack, entry: flower.Entry, metrics_url: str) -> None:
    """Where everything is, and the password, once. Plain lines: addresses are there to be copied whole."""
    where = places(stack.settings) | {
        "flower": f"{entry.url}  user {flower.USER}, password {entry.password}",
        "metrics": metrics_url,
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


def drain() -> None:
    """Finish what was begun, take nothing new, and end the running stack.

    With stores of your own (OUTRIDER_BROKER_URL), the workers that listen to them are asked to end.

    Example: outrider drain
    """
    settings = configuration.settings()
    if (external := sharing.find_external(settings)) is not None:
        from ops.cli import watching  # noqa: PLC0415 - Celery, needed for stores of others alone

        leave(watching.drain_workers(external))
    state = home.read_state(settings.home)
    if state is None:
        say("nothing is running here")
        leave(OK)
    elif not wait_for_end(settings, state):
        say(f"process {state.pid} is still draining after {DRAIN_SECONDS:.0f} s")
        leave(OURS)
    say("drained")


def wait_for_end(settings: Settings, state: home.State) -> bool:
    """Ask the owner to end, and wait for it."""
    os.kill(state.pid, signal.SIGTERM)
    until = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < until:
        now = home.read_state(settings.home)
        if now is None or now.pid != state.pid:
            return True
        time.sleep(0.1)
    return False
