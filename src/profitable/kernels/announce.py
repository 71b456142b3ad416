"""What is being compiled: a moving sign on a terminal, one line in a log elsewhere.

Example: `⠹ compiling at first use on this machine: run_events (31)`, where 31 functions were compiled before.  The sign
vanishes when the compiler has finished.  Loading kernels from the disk cache is silent.
"""

import gc
import logging
import os
import sys
import threading
from typing import Any

from numba.core import event

logger = logging.getLogger("profitable")

SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PAUSE = 0.1  # seconds from one sign to the next
WIDTH = 78


class Announcer(event.Listener):
    """Counts the functions that the compiler compiles for this package, and says so while it does."""

    def __init__(self) -> None:
        self.compiled = 0  # functions, since the process started
        self.name = ""  # the one that needs the others
        self._depth = 0
        self._announced = False
        self._collects = False
        self._over = threading.Event()
        self._sign: threading.Thread | None = None

    def on_start(self, event: Any) -> None:
        """The compiler begins a function; it is already at work if the function is called by another one."""
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()  # the compiler makes many objects and keeps most: looking for rubbish is a tenth of its time
        source = getattr(event.data["dispatcher"], "py_func", None)
        if getattr(source, "__module__", "").startswith("profitable."):
            self.compiled += 1
            if self._depth == 1:
                self.name = getattr(source, "__name__", "")
            if _on_terminal():
                self._start_sign()
            elif not self._announced:
                self._announced = True
                # A warning, because Python shows those unless told otherwise: silence would look like a hang.
                logger.warning("compiling numerical kernels at their first use on this machine (up to a minute) ...")

    def on_end(self, event: Any) -> None:
        """The compiler has finished a function, or failed."""
        self._depth -= 1
        if self._depth == 0:
            if self._collects:
                gc.enable()
            self._stop_sign()

    def _start_sign(self) -> None:
        if self._sign is None:
            self._over.clear()
            self._sign = threading.Thread(target=self._turn, name="compiling", daemon=True)
            self._sign.start()

    def _stop_sign(self) -> None:
        if self._sign is not None:
            self._over.set()
            self._sign.join()
            self._sign = None

    def _turn(self) -> None:
        turn = 0
        while not self._over.wait(PAUSE):
            text = f"compiling at first use on this machine: {self.name} ({self.compiled})"
            _write(f"\r{SIGNS[turn % len(SIGNS)]} {text:{WIDTH}.{WIDTH}}")
            turn += 1
        if turn:
            _write(f"\r{'':{WIDTH + 2}}\r")


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, UnicodeError):  # a terminal that is gone, or one that knows no such signs
        pass


ANNOUNCER = Announcer()
event.register("numba:compile", ANNOUNCER)  # pyright: ignore[reportUnknownMemberType]
