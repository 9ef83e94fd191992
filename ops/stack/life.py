"""One stack: what of it is external, what is embedded, and its life from the first start to the last stop."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pydantic import SecretStr

from broker.settings import Settings
from ops.stack import home as homes
from ops.stack import leftovers, postgres, processes, valkey
from ops.stack.child import Part
from ops.stack.faults import StackBusy
from ops.stack.home import Home, Phase, State
from ops.stack.supervisor import Say, Supervisor, Watch

Fleet = Callable[[Home, Mapping[str, str]], Sequence[Part]]
Asked = Callable[[], bool]

# How long an owner that leaves waits for others that are still reading their reply.
USERS_SECONDS = 60.0


def no_fleet(_home: Home, _environment: Mapping[str, str]) -> Sequence[Part]:
    """The stores alone, for development and tests."""
    return ()


def never() -> bool:
    """Nobody asks."""
    return False


def nothing() -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is wanted of a stack.

    Shape: `begun` is called once the home is ours, before anything is started; `prepare` with the ledger's URL, before
    the fleet is started. `asked` and `hurry` say that the end was asked for, once and twice. `serves` tells others that
    calls are answered here.
    """

    settings: Settings
    fleet: Fleet = no_fleet
    prepare: Callable[[str], None] = lambda _url: None
    say: Say = lambda _line: None
    begun: Callable[[], None] = nothing
    asked: Asked = never
    hurry: Asked = never
    flower_url: str | None = None
    metrics_url: str | None = None
    admin_url: str | None = None
    gateway_url: str | None = None
    serves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack that is up. `settings` carries the URLs of all three stores."""

    settings: Settings
    home: Home
    supervisor: Supervisor
    parts: list[Part] = field(default_factory=list)


def resolve(settings: Settings, home: Home) -> Settings:
    """The settings with every URL and the key known: given ones as they are, each for itself, the others embedded."""
    # Beside an external broker replies go to it, as its other clients expect them, unless a store is named.
    results = settings.result_url or settings.broker_url
    found = {
        "database_url": settings.database_url or postgres.url(home),
        "broker_url": settings.broker_url or valkey.url(valkey.broker_socket(home)),
        "result_url": results or valkey.url(valkey.results_socket(home)),
        "seal_key": settings.seal_key or SecretStr(homes.make_seal_key(home)),
    }
    return settings.model_copy(update=found)


@contextmanager
def run(plan: Plan) -> Iterator[Stack]:
    """Own the home and run the plan while the block runs; then drain. Raises: StackBusy, StackError."""
    home = homes.open_home(plan.settings.home)
    with homes.lock(home, "owner") as mine:
        if not mine:
            state = homes.read_state(home.root)
            raise StackBusy(home.root, state.pid if state else None, state.phase if state else "unknown")
        plan.begun()
        homes.open_home(plan.settings.home)  # again: the last owner may have removed its folder of sockets in between
        with homes.usable(home.root):
            stack = Stack(settings=resolve(plan.settings, home), home=home, supervisor=Supervisor(home, plan.say))
        watch = Watch(stack.supervisor, lambda: _begin(plan, stack), plan.hurry)
        try:
            with homes.usable(home.root):
                watch.begin(plan.asked)
                _tell(plan, stack, "ready")
            yield stack
        finally:
            _end(plan, stack, watch)


def _begin(plan: Plan, stack: Stack) -> None:
    home, supervisor = stack.home, stack.supervisor
    if homes.left_state(home):
        leftovers.clear(home)
    _tell(plan, stack, "starting")
    valkey.forget_set_aside(home)
    stores = _valkeys(plan, stack)
    supervisor.start(stores)
    if plan.settings.database_url is None:
        postgres.prepare(home)
        stores.append(postgres.part(home))
        supervisor.start(stores[-1:])
    supervisor.wait_ready(stores)
    plan.prepare(str(stack.settings.database_url))
    fleet = plan.fleet(home, environment(stack.settings))
    supervisor.start(fleet)
    stack.parts.extend((*stores, *fleet))


def _valkeys(plan: Plan, stack: Stack) -> list[Part]:
    parts = []
    if plan.settings.broker_url is None:
        parts.append(valkey.broker(stack.home))
    if stack.settings.result_url == valkey.url(valkey.results_socket(stack.home)):
        parts.append(valkey.results(stack.home))
    return parts


def environment(settings: Settings) -> dict[str, str]:
    """What a child is told besides the environment that we were given."""
    return {
        processes.MARK: str(settings.home.expanduser().absolute()),
        "OUTRIDER_HOME": str(settings.home.expanduser().absolute()),
        "OUTRIDER_DATABASE_URL": str(settings.database_url),
        "OUTRIDER_BROKER_URL": str(settings.broker_url),
        "OUTRIDER_RESULT_URL": str(settings.result_url),
        "OUTRIDER_SEAL_KEY": "" if settings.seal_key is None else settings.seal_key.get_secret_value(),
        "OUTRIDER_TOKEN": "",  # a client's own, and no business of the stack that its gateway starts
        **(
            {}
            if settings.models_file is None
            else {"OUTRIDER_MODELS_FILE": str(settings.models_file.expanduser().absolute())}
        ),
        "PYTHONUNBUFFERED": "1",
    }


def _tell(plan: Plan, stack: Stack, phase: Phase) -> None:
    settings = stack.settings
    homes.write_state(
        stack.home,
        State(
            pid=os.getpid(),
            born=processes.born(),
            phase=phase,
            database_url=str(settings.database_url),
            broker_url=str(settings.broker_url),
            result_url=str(settings.result_url),
            flower_url=plan.flower_url,
            metrics_url=plan.metrics_url,
            admin_url=plan.admin_url,
            gateway_url=plan.gateway_url,
            serves=plan.serves,
        ),
    )


def _end(plan: Plan, stack: Stack, watch: Watch) -> None:
    try:
        with suppress(OSError):  # a full disk keeps nobody from leaving
            _tell(plan, stack, "draining")
        homes.wait_for_users(stack.home, USERS_SECONDS, plan.hurry)
    finally:
        watch.end()
    homes.clear_state(stack.home)
    homes.leave_sockets(stack.home)
