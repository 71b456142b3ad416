"""Interruption: what Ctrl-C does while a simulation is at work."""

import signal
import threading
from typing import Any, Self


class Interruption:
    """Inside this context, Ctrl-C only sets `noticed`, so that nothing is left half done; a second one ends it at once.

    With `at_once`, the first one raises KeyboardInterrupt, and if that gets lost on its way, the end of the context
    raises it again: a compiler may swallow it, or make another error of it.

    SIGTERM is treated in the same way where somebody handles it, as the command line does.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.noticed = False
        self._at_once = at_once
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        if self.noticed or self._at_once:
            self.noticed = True
            raise KeyboardInterrupt
        self.noticed = True

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._at_once and self.noticed:
            raise KeyboardInterrupt from None
