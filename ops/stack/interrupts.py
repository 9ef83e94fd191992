"""Interrupts: what Ctrl-C and SIGTERM mean to a command that owns processes.

The first one asks to end, the second one to hurry. None ever breaks the stopping itself.
"""

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Counts the signals of this process while its block runs. Nothing is ever raised by one: whoever waits, looks."""

    def __init__(self) -> None:
        self._count = 0
        self._asked = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` asks to outlive the terminal
            numbers.append(signal.SIGHUP)
        for number in numbers:
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def wait(self, seconds: float = 0.5) -> bool:
        """Whether the first signal came, waiting for it this long."""
        return self._asked.wait(seconds)

    def asked(self) -> bool:
        """Whether the end was asked for."""
        return self._count >= 1

    def hurry(self) -> bool:
        """Whether it was asked for twice."""
        return self._count >= 2

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        self._asked.set()
