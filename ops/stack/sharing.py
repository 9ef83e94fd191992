"""Sharing: how a command comes by a stack, a running one where there is one, else one of its own for the call."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from broker.settings import Settings
from ops.stack import fleet, home, life
from ops.stack.faults import StackBusy
from ops.stack.life import Hurry, Plan
from ops.stack.supervisor import Say

# Longer than an owner's start or its drain.
PATIENCE_SECONDS = 90.0


def find(settings: Settings) -> Settings | None:
    """The settings of the stack that runs: an external one, or that of a living owner of this home."""
    if life.is_external(settings):
        return settings if settings.result_url else settings.model_copy(update={"result_url": settings.broker_url})
    state = home.read_state(settings.home)
    if state is None or state.phase == "draining":
        return None
    return joined(settings, state)


def joined(settings: Settings, state: home.State) -> Settings:
    """The settings with the URLs that an owner tells."""
    urls = {"database_url": state.database_url, "broker_url": state.broker_url, "result_url": state.result_url}
    return settings.model_copy(update=urls)


@contextmanager
def embedded_stack(settings: Settings, *, say: Say, hurry: Hurry = life.never) -> Iterator[Settings]:
    """Settings with the URLs of a stack that serves while the block runs. Raises: StackBusy, StackError."""
    if life.is_external(settings):
        yield find(settings) or settings
        return
    plan = Plan(settings=settings, fleet=fleet.one_worker, prepare=make_current, say=say, hurry=hurry, serves=True)
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        with ExitStack() as held:
            found = _join(held, settings) or _own(held, plan, until)
            if found is not None:
                yield found
                return
        time.sleep(0.1)


def make_current(url: str) -> None:
    """Migrations and the local project; imported when needed, for the ledger's libraries take long to load."""
    from ops.stack import ledger  # noqa: PLC0415 - 0.4 s of imports that overlap with the start of the stores

    ledger.make_current(url)


def _join(held: ExitStack, settings: Settings) -> Settings | None:
    """A running stack that will not leave before we do."""
    place = home.open_home(settings.home)
    held.enter_context(home.lock(place, "users", shared=True, wait=True))
    state = home.read_state(settings.home)
    if state is None or state.phase != "ready":
        held.close()
        return None
    if not state.serves:
        raise StackBusy(place.root, state.pid, "stores without workers")
    return joined(settings, state)


def _own(held: ExitStack, plan: Plan, until: float) -> Settings | None:
    """A stack of our own; None when somebody else was quicker."""
    try:
        return held.enter_context(life.run(plan)).settings
    except StackBusy:
        if time.monotonic() > until:
            raise
        return None
