"""Task events: what shows the fleet to people still sees every step of a task, gathered as it is."""

import threading
from typing import Any

from broker.app import app
from tests.fleet import Fleet, wait_until

SECONDS = 15.0


def test_events_tell_every_step_of_a_task_when_they_are_gathered(fleet: Fleet) -> None:
    heard: list[tuple[str, str]] = []
    listening, over = threading.Event(), threading.Event()

    def hear(event: dict[str, Any]) -> None:
        heard.append((event.get("uuid", ""), event["type"]))

    def listen() -> None:
        with app.connection_for_read() as connection:
            receiver = app.events.Receiver(connection, handlers={"*": hear})
            with receiver.consumer_context():
                listening.set()
                for _ in receiver.consume(limit=None, timeout=SECONDS, wakeup=False):
                    if over.is_set():
                        return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert listening.wait(SECONDS)

    handle = fleet.send("https://good.example/")
    assert fleet.reply(handle)["outcome"] == "completed"

    wait_until(lambda: (handle.task_id, "task-succeeded") in heard, seconds=SECONDS, what="the last event")
    steps = [kind for whose, kind in heard if whose == handle.task_id]
    assert steps == ["task-received", "task-started", "task-succeeded"]
    over.set()
    listener.join(SECONDS)
