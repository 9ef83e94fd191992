"""Lanes: one message broker with one launcher, its messages posted and its replies read by hand."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError as StoreError

from broker.app import app
from ops.stack import life
from tests.faults.launching import Launcher
from tests.faults.stores import Stores
from tests.fleet import HOUSE

HOST = "counted.example"
NOTHING: Mapping[str, str] = MappingProxyType({})
PATIENCE = {"max_retries": 3, "interval_start": 0.1, "interval_max": 1}


@dataclass(slots=True)
class Call:
    """One call: `struck` says whether its first worker met the blow, `point` at which step; `at` is that step's k.

    Shape: `tasks` are the ids under which its messages were posted.
    """

    key: str
    project: str
    target: str
    at: int | None = None
    point: str = ""
    struck: bool = False
    struck_at: float = 0.0
    answered: bool = False
    outcomes: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, Any]:
        return {"url": f"http://{HOST}{self.target}"}

    @property
    def context(self) -> dict[str, Any]:
        return {"project": self.project, "agent": "cli", "run": "r", "step": "s", "call": self.key}


class Lane:
    """A message broker of its own (a database of the one Valkey) with one launcher. Must be closed.

    Shape: `mark` tells the second worker of a broker from its first; `house` is where the worker's code lies,
    `entrance` how the worker gets to where it runs.
    """

    def __init__(
        self,
        number: int,
        stores: Stores,
        folder: Path,
        environment: Mapping[str, str] = NOTHING,
        *,
        mark: str = "",
        house: Path = HOUSE,
        entrance: Sequence[str] = (),
    ) -> None:
        self.stores = stores
        self.broker_url = f"{stores.settings.broker_url}?virtual_host={number}"
        base = life.environment(stores.settings) | {"OUTRIDER_BROKER_URL": self.broker_url}
        self.launcher = Launcher(f"lane-{number}{mark}", base | environment, folder, house, entrance)
        self._store = Redis(unix_socket_path=str(stores.settings.broker_url).partition("://")[2], db=number)
        self._replies = Redis(unix_socket_path=str(stores.settings.result_url).partition("://")[2])
        self._left: list[bytes] = []

    def send(self, call: Call, task: str | None = None) -> str:
        """Post one message of the call, as any foreign producer would; its task id."""
        task = task or uuid4().hex
        call.tasks.append(task)
        asked = {"arguments": call.arguments, "context": call.context}
        message = app.amqp.create_task_message(task, "web_fetch", args=(), kwargs=asked)
        queue = app.amqp.queues["fetch"]
        with app.connection_for_write(self.broker_url) as connection, app.amqp.Producer(connection) as producer:
            producer.publish(
                message.body,
                headers=message.headers,
                **message.properties,
                serializer="json",
                exchange=queue.exchange,
                routing_key=queue.routing_key,
                declare=[queue],
                retry=True,
                retry_policy=PATIENCE,
            )
        return task

    def reply(self, task: str) -> dict[str, Any] | None:
        """The envelope that a worker left for a task."""
        kept = None
        with suppress(StoreError):  # struck, or loading
            kept = self._replies.get(f"celery-task-meta-{task}")
        return json.loads(kept)["result"] if isinstance(kept, bytes) and b'"SUCCESS"' in kept else None

    def flush(self) -> None:
        """Make the broker forget everything, as a failover to an empty one would."""
        self._store.flushall()

    def set_aside(self) -> None:
        """Take away what waits: the next worker shall meet its own call first."""
        while isinstance(message := self._store.rpop("fetch"), bytes):
            self._left.append(message)

    def give_back(self) -> None:
        """Put back what was taken away."""
        for message in self._left:
            self._store.lpush("fetch", message)
        self._left.clear()

    def unread(self) -> int:
        """Messages that wait, or that a worker, perhaps a dead one, holds."""
        with suppress(StoreError):
            return int(self._store.hlen("unacked")) + int(self._store.llen("fetch"))
        return -1

    def waiting(self) -> int:
        """Messages that no worker has taken yet."""
        return int(self._store.llen("fetch"))

    def holds(self, task: str) -> bool:
        """Whether a worker has yet to acknowledge a message of this task."""
        with suppress(StoreError):
            return any(task.encode() in message for message in self._store.hvals("unacked"))
        return True

    def close(self) -> None:
        self.launcher.close()
        self._store.close()
        self._replies.close()
