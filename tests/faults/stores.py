"""The three stores as children of the test: struck at any time, started again at once by whoever waits."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import psycopg2

from broker.settings import Settings
from ops.stack import child, home, life, postgres, valkey
from ops.stack.child import HOUSE, Child, Part
from ops.stack.home import Home
from ops.stack.ledger import make_current
from tests.fleet import wait_until

# Every end and every receipt that is ever written, noted by the database itself: a second end would be a second row.
WITNESS = """
CREATE TABLE witness_ends (operation_id uuid, state text, sent text, lease_until timestamptz, at timestamptz);
CREATE TABLE witness_receipts (operation_id uuid, body text, at timestamptz);
CREATE FUNCTION witness_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_ends VALUES (NEW.id, NEW.state, NEW.sent, NEW.lease_until, clock_timestamp()); RETURN NULL;
END $$;
CREATE FUNCTION witness_receipt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_receipts VALUES (NEW.operation_id, NEW.body, clock_timestamp()); RETURN NULL;
END $$;
CREATE TRIGGER zz_witness AFTER UPDATE ON operations FOR EACH ROW WHEN (NEW.state NOT IN ('accepted', 'pending'))
  EXECUTE FUNCTION witness_end();
CREATE TRIGGER zz_witness AFTER INSERT OR UPDATE ON receipts FOR EACH ROW EXECUTE FUNCTION witness_receipt();
"""


@dataclass(slots=True)
class Stores:
    """PostgreSQL, the broker and the result store of one home. What is named in `down` stays away when it dies."""

    home: Home
    settings: Settings
    parts: dict[str, Part]
    children: dict[str, Child] = field(default_factory=dict)
    closing: Event = field(default_factory=Event)
    down: set[str] = field(default_factory=set)

    def start(self, *names: str) -> None:
        """Start these, and return when they are ready."""
        for name in names:
            self.children[name] = child.start(self.parts[name])
        for name in names:
            wait_until(self.parts[name].is_ready, seconds=30, what=f"{name} is ready")

    def tend(self) -> None:
        """Start again what is gone, until closing. The kernel ends the children with the thread that runs this."""
        self.start("broker", "results", "postgres")
        while not self.closing.wait(0.05):
            for name, one in list(self.children.items()):
                if one.ended() is not None and name not in self.down and not self.closing.is_set():
                    if name == "postgres":
                        postgres.let_go(self.home)
                    self.children[name] = child.start(self.parts[name])
        child.stop(list(self.children.values()), lambda: True)

    def pid(self, name: str) -> int:
        """The store's process, once it is ready."""
        wait_until(lambda: self.children[name].ended() is None and self.parts[name].is_ready(), seconds=30, what=name)
        return self.children[name].pid

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """What PostgreSQL answers to a look."""
        connection = psycopg2.connect(self.settings.database_url)
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


@contextmanager
def running_stores(root: Path, change: Callable[[Home, Part], Part] = lambda _home, part: part) -> Iterator[Stores]:
    """Stores with a witness and a caretaker that finalizes, while the block runs; `change` alters how they are run."""
    place = home.open_home(root)
    settings = life.resolve(Settings(home=root, database_url=None, broker_url=None, result_url=None), place)
    postgres.prepare(place)
    parts = [change(place, part) for part in (valkey.broker(place), valkey.results(place), postgres.part(place))]
    stores = Stores(place, settings, {part.name: part for part in parts})
    thread = Thread(target=stores.tend, name="stores")
    thread.start()
    try:
        wait_until(lambda: len(stores.children) == 3, seconds=30, what="the stores have begun")
        stores.pid("postgres")
        make_current(str(settings.database_url))
        stores.rows(WITNESS)
        for part in care(stores, "care", "beat"):
            stores.parts[part.name] = part
            stores.children[part.name] = child.start(part)
        yield stores
    finally:
        stores.closing.set()
        thread.join()


def care(stores: Stores, *names: str) -> list[Part]:
    """Beat and the worker it wakes, as in a whole fleet: every 5 s they end what is past its lease."""
    words = {
        name: ("beat", "-S", "celery.beat:Scheduler", "--pidfile=")
        if name.startswith("beat")
        else ("worker", "-P", "threads", "-c", "2", "-Q", "care", "-n", f"{name}@%h", "--without-gossip")
        for name in names
    }
    return [
        Part(
            name=name,
            argv=(sys.executable, "-m", "celery", "-A", "broker.app", *given),
            folder=HOUSE,
            log=stores.home.logs / f"{name}.log",
            tier=3,
            environment=life.environment(stores.settings),
            hurried_stops=((signal.SIGKILL, 5.0),),
        )
        for name, given in words.items()
    ]
