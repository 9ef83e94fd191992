"""Task events: gathered for a quarter of a second, then sent as one message.

Celery sends them at each turn of the worker's loop, which is about once a task: a fifth of a no-op's CPU, and three
wake-ups of the loop by the thread that ran the task. What shows events (Flower) is looked at by people.
"""

from typing import Any

from broker.sealing import SealedConsumer

EVERY_SECONDS = 0.25
MOST = 1_000  # then a thread sends them at once: more than a process can make in the time


class Consumer(SealedConsumer):
    """A consumer whose task events leave together."""

    event_dispatcher: Any  # Celery's: None between two connections

    def register_with_event_loop(self, hub: Any) -> None:
        """Begin to send; Celery ends what was registered here when the connection is lost."""
        super().register_with_event_loop(hub)
        self.event_dispatcher.buffer_limit = MOST
        hub.call_repeatedly(EVERY_SECONDS, self.send_events)

    def send_events(self) -> None:
        """Send what was gathered."""
        if self.event_dispatcher:
            self.event_dispatcher.flush()

    def on_send_event_buffered(self) -> Any:
        """Leave the event where it is."""

    def shutdown(self) -> None:
        """Send what is left."""
        self.send_events()
        super().shutdown()
