"""The supervisor: starts parts, starts again what dies, and stops them in order.

`watch` runs in one thread for as long as the stack lives, because the kernel's death signal is bound to the thread
that started a child: restarts and stopping belong to that thread, the first starts to whoever made the supervisor.
"""

import threading
import time
from collections.abc import Callable, Sequence

from ops.stack import child, valkey
from ops.stack.child import Child, Part
from ops.stack.faults import PartFailed, StartInterrupted, failed_part
from ops.stack.home import Home

Say = Callable[[str], None]
START_SECONDS = 60.0
# A part that dies again is given longer each time; one that lived this long begins anew.
BACKOFF_SECONDS = (0.2, 1.0, 2.0, 5.0, 10.0, 30.0)
STEADY_SECONDS = 60.0
HOPELESS_DEATHS = 3
COMPACT_EVERY_SECONDS = 20.0


class Supervisor:
    """The children of one stack. Must be closed: `stop` it."""

    def __init__(self, home: Home, say: Say) -> None:
        self._home = home
        self.say = say
        self._children: dict[str, Child] = {}
        self._deaths: dict[str, int] = {}
        self._due: dict[str, float] = {}
        self._compacted_at = time.monotonic()
        self._lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def children(self) -> dict[str, Child]:
        """Who runs, by name."""
        return dict(self._children)

    def trouble(self) -> str | None:
        """Which part does not stay up, if one does not."""
        for name, deaths in list(self._deaths.items()):
            if deaths >= HOPELESS_DEATHS and name in self._children:
                return f"{name} does not stay up; its log: {self._children[name].part.log}"
        return None

    def start(self, parts: Sequence[Part]) -> None:
        """Start these, without waiting for them."""
        with self._lock:
            for part in parts:
                self._children[part.name] = child.start(part)

    def wait_ready(self, parts: Sequence[Part], seconds: float = START_SECONDS) -> None:
        """Return when all of them are ready. Raises: PartFailed, StartInterrupted."""
        until = time.monotonic() + seconds
        waiting = list(parts)
        while waiting := [part for part in waiting if not part.is_ready()]:
            for part in waiting:
                self._insist_on_life(part)
            if self.closing.is_set():
                raise StartInterrupted
            if time.monotonic() > until:
                raise PartFailed(waiting[0].name, f"not ready after {seconds:.0f} s", waiting[0].log)
            time.sleep(0.01)

    def _insist_on_life(self, part: Part) -> None:
        status = self._children[part.name].ended()
        if status is None:
            return
        if part.name == "broker" and (aside := valkey.set_aside_if_unreadable(self._home)):
            self.say(f"the broker's file was unreadable and is now {aside}; unfinished calls are posted again")
            self.start([part])
            return
        raise failed_part(part.name, f"it ended with status {status}", part.log)

    def tend(self) -> None:
        """One round: start again what died, and keep the broker's file small."""
        now = time.monotonic()
        with self._lock:
            for name, one in list(self._children.items()):
                if one.ended() == 0 and one.part.may_leave:
                    self._let_go(name, one)
                elif one.ended() is not None:
                    self._tend_dead(name, one, now)
        if now - self._compacted_at > COMPACT_EVERY_SECONDS:
            self._compacted_at = now
            self._compact()

    def _let_go(self, name: str, one: Child) -> None:
        del self._children[name]
        one.sweep()
        self.say(f"{name} was asked to leave, and has finished; it comes back with the next `outrider up`")

    def _tend_dead(self, name: str, one: Child, now: float) -> None:
        if name not in self._due:
            if now - one.since > STEADY_SECONDS:
                self._deaths[name] = 0
            deaths = self._deaths[name] = self._deaths.get(name, 0) + 1
            pause = BACKOFF_SECONDS[min(deaths, len(BACKOFF_SECONDS)) - 1]
            self._due[name] = now + pause
            one.sweep()
            self.say(f"{name} ended with status {one.ended()}; starting it again in {pause:g} s ({one.part.log})")
        elif now >= self._due[name]:
            del self._due[name]
            if name == "broker":
                valkey.set_aside_if_unreadable(self._home)
            self._children[name] = child.start(one.part)

    def _compact(self) -> None:
        if "broker" in self._children:
            path = valkey.broker_socket(self._home)
            written, base = valkey.written_bytes(path)
            if written > base:
                valkey.compact(path)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Stop the tiers from the highest down: workers finish what they hold before their stores go."""
        with self._lock:
            tiers = sorted({one.part.tier for one in self._children.values()}, reverse=True)
            for tier in tiers:
                if tier == 1 and "broker" in self._children and not hurry():
                    valkey.compact(valkey.broker_socket(self._home), wait=True)
                self._stop_tier(tier, hurry)

    def _stop_tier(self, tier: int, hurry: Callable[[], bool]) -> None:
        ending = [one for one in self._children.values() if one.part.tier == tier]
        for one in child.stop(ending, hurry):
            self.say(f"{one.part.name} had to be killed")
        for one in ending:
            del self._children[one.part.name]


class Watch:
    """A thread that tends a supervisor until it is told to stop it."""

    def __init__(self, supervisor: Supervisor, begin: Callable[[], None], hurry: Callable[[], bool]) -> None:
        self._supervisor = supervisor
        self._begin = begin
        self._hurry = hurry
        self._begun = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="stack", daemon=True)

    def begin(self, asked: Callable[[], bool]) -> None:
        """Start the parts in the watching thread. Raises: what starting raised, StartInterrupted when asked to end."""
        self._thread.start()
        while not self._begun.wait(0.1):
            if asked():
                raise StartInterrupted
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Stop everything, and return when it has stopped."""
        self._supervisor.closing.set()
        while self._thread.is_alive():
            self._thread.join(0.5)

    def _run(self) -> None:
        try:
            self._begin()
        except BaseException as error:  # noqa: BLE001 - carried to the caller of begin
            self._error = error
        finally:
            self._begun.set()
        while self._error is None and not self._supervisor.closing.wait(0.2):
            try:
                self._supervisor.tend()
            except Exception as error:  # noqa: BLE001 - a supervisor that stumbles (no memory, no disk) goes on
                self._supervisor.say(f"tending the stack failed ({type(error).__name__}: {error}); trying again")
        self._supervisor.stop(self._hurry)
