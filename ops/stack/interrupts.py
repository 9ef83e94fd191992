"""Interrupts: what Ctrl-C and SIGTERM mean to a command that owns processes.

The first one asks to end, the second one to hurry. None ever breaks the stopping itself.
"""

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Counts the signals of this process while its block runs; what an outer block counted counts here too.

    Nothing is raised by one, and whoever waits, looks; with `raises`, for a command that owns nothing, each raises
    KeyboardInterrupt.
    """

    def __init__(self, *, raises: bool = False) -> None:
        self._raises = raises
        self._count = 0
        self._outer: Interrupts | None = None
        self._asked = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def listen(self) -> None:
        """Count from now on: without a block, for as long as the process lives."""
        for number in _numbers():
            self._before[number] = signal.signal(number, self._on_signal)
        outer = getattr(self._before[signal.SIGINT], "__self__", None)
        self._outer = outer if isinstance(outer, Interrupts) else None

    def wait(self, seconds: float = 0.5) -> bool:
        """Whether the first signal came, waiting for it this long."""
        return self.asked() or self._asked.wait(seconds)

    def asked(self) -> bool:
        """Whether the end was asked for."""
        return self.count() >= 1

    def hurry(self) -> bool:
        """Whether it was asked for twice."""
        return self.count() >= 2

    def check(self) -> None:
        """Raise for a signal that came before this block. Raises: KeyboardInterrupt, where signals raise."""
        if self._raises and self.asked():
            raise KeyboardInterrupt

    def count(self) -> int:
        """How many came, to this block and before it."""
        return self._count + (self._outer.count() if self._outer else 0)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        self._asked.set()
        self.check()


def release() -> None:
    """Give the signals their first meanings back, for a command that has its own way with them."""
    for number in _numbers():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore() -> None:
    """Let no late signal change how this process ends: Python drops its handlers before it has gone."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)


def _numbers() -> list[signal.Signals]:
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` asks to outlive the terminal
        numbers.append(signal.SIGHUP)
    return numbers
