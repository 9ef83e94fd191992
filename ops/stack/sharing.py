"""Sharing: how a command comes by a stack, a running one where there is one, else one of its own for the call."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from broker.settings import Settings
from ops.stack import fleet, home, life
from ops.stack.faults import StackBusy, StartInterrupted
from ops.stack.life import Asked, Plan
from ops.stack.supervisor import Say

# Longer than an owner's start or its drain.
PATIENCE_SECONDS = 90.0


def find(settings: Settings) -> Settings | None:
    """The settings of the stack that runs: an external one, or that of a living owner of this home."""
    if (external := find_external(settings)) is not None:
        return external
    state = home.read_state(settings.home)
    return None if state is None or state.phase == "draining" else joined(settings, state)


def find_external(settings: Settings) -> Settings | None:
    """The settings where none of the stores is ours to run."""
    if settings.database_url is None or settings.broker_url is None:
        return None
    return settings.model_copy(update={"result_url": settings.result_url or settings.broker_url})


def joined(settings: Settings, state: home.State) -> Settings:
    """The settings with the URLs that an owner tells, and the key that lies beside them."""
    urls = {"database_url": state.database_url, "broker_url": state.broker_url, "result_url": state.result_url}
    if settings.seal_key is None and (key := home.seal_key(settings.home)) is not None:
        return settings.model_copy(update=urls | {"seal_key": SecretStr(key)})
    return settings.model_copy(update=urls)


@dataclass(frozen=True, slots=True)
class Serving:
    """A stack that answers calls. `trouble` says what of it does not stay up, or that it is gone.

    Shape: `own` is a stack that was started for this process alone: its worker may still be starting.
    """

    settings: Settings
    own: bool = False
    trouble: Callable[[], str | None] = lambda: None


@contextmanager
def embedded_stack(
    settings: Settings,
    *,
    say: Say,
    begun: Callable[[], None] = life.nothing,
    asked: Asked = life.never,
    hurry: Asked = life.never,
) -> Iterator[Serving]:
    """A stack that serves while the block runs: the running one, else one of our own. Raises: StackError."""
    if (external := find_external(settings)) is not None:
        yield Serving(external)
        return
    own = Plan(
        settings=settings,
        fleet=fleet.one_worker,
        prepare=make_current,
        say=say,
        begun=begun,
        asked=asked,
        hurry=hurry,
        serves=True,
    )
    with _shared_or_own(own, lambda state: state.serves) as serving:
        yield serving


@contextmanager
def open_stores(settings: Settings, *, say: Say, asked: Asked = life.never) -> Iterator[Settings]:
    """Settings with the URLs of stores that stay up while the block runs, with or without a fleet."""
    if (external := find_external(settings)) is not None:
        yield external
        return
    own = Plan(settings=settings, prepare=make_current, say=say, asked=asked)
    with _shared_or_own(own, lambda _state: True) as serving:
        yield serving.settings


@contextmanager
def _shared_or_own(own: Plan, suits: Callable[[home.State], bool]) -> Iterator[Serving]:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        with ExitStack() as held:
            found = _join(held, own.settings, suits) or _own(held, own, until)
            if found is not None:
                yield found
                return
        if own.asked():
            raise StartInterrupted
        time.sleep(0.1)


def make_current(url: str) -> None:
    """Migrations and the local project; imported when needed, for the ledger's libraries take long to load."""
    from ops.stack import ledger  # noqa: PLC0415 - 0.4 s of imports that overlap with the start of the stores

    ledger.make_current(url)


def _join(held: ExitStack, settings: Settings, suits: Callable[[home.State], bool]) -> Serving | None:
    """A running stack that will not leave before we do."""
    place = home.open_home(settings.home)
    held.enter_context(home.lock(place, "users", shared=True, wait=True))
    state = home.read_state(settings.home)
    if state is None or state.phase != "ready":
        held.close()
        return None
    if not suits(state):
        raise StackBusy(place.root, state.pid, "stores without workers")
    return Serving(joined(settings, state), trouble=lambda: _gone(settings, state))


def _gone(settings: Settings, joined_state: home.State) -> str | None:
    state = home.read_state(settings.home)
    gone = state is None or state.pid != joined_state.pid
    return f"the stack of process {joined_state.pid} ended" if gone else None


def _own(held: ExitStack, plan: Plan, until: float) -> Serving | None:
    """A stack of our own; None when somebody else was quicker."""
    try:
        stack = held.enter_context(life.run(plan))
    except StackBusy:
        if time.monotonic() > until:
            raise
        return None
    return Serving(stack.settings, own=True, trouble=stack.supervisor.trouble)
