"""Announcements of the compiler: a spinner on a terminal, one log line elsewhere.

Example: `⠹ compiling at first use on this machine: run_events (31)`, where 31 functions
were compiled before.  The spinner vanishes when the compiler has finished.  Loading
kernels from the disk cache is silent.
"""

import gc
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("profitable")

SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PAUSE = 0.1  # seconds from one sign to the next
WIDTH = 78


class Announcer:
    """Announces the functions of this package while they are compiled."""

    def __init__(self) -> None:
        self._compiled = 0  # functions, since the process started
        self._name = ""  # the one that needs the others
        self._depth = 0
        self._announced = False
        self._collects = False
        self._over = threading.Event()
        self._sign: threading.Thread | None = None

    def start(self, function: Callable[..., Any] | None) -> None:
        """Note that the compiler begins a function, maybe for a caller."""
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            # The compiler makes many objects and keeps most: collecting garbage is a
            # tenth of its time.
            gc.disable()
        if getattr(function, "__module__", "").startswith("profitable."):
            self._compiled += 1
            if self._depth == 1:
                self._name = getattr(function, "__name__", "")
            if _on_terminal():
                if self._sign is None:
                    self._over.clear()
                    self._sign = threading.Thread(target=self._turn, name="compiling", daemon=True)
                    self._sign.start()
            elif not self._announced:
                self._announced = True
                # A warning, because Python shows warnings by default: silence would
                # look like a hang.
                logger.warning(
                    "compiling numerical kernels at their first use on this machine"
                    " (up to a minute) ..."
                )

    def end(self) -> None:
        """Note that the compiler has finished a function, or failed."""
        self._depth -= 1
        if self._depth == 0:
            if self._collects:
                gc.enable()
            if self._sign is not None:
                self._over.set()
                self._sign.join()
                self._sign = None

    def _turn(self) -> None:
        turn = 0
        while not self._over.wait(PAUSE):
            text = f"compiling at first use on this machine: {self._name} ({self._compiled})"
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
    except (OSError, ValueError):  # no terminal any more, or one without such signs
        pass


ANNOUNCER = Announcer()
