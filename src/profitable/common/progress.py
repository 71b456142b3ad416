"""A progress bar with the time left, on standard error, if that is a terminal."""

import sys
from collections.abc import Callable
from typing import Any, Self


class Progress:
    """A progress bar over `total` units of work; fractions count.

    `shown` is True, False, or a function that is called with the share done.  By
    default, there is a bar if standard error is a terminal.
    """

    def __init__(
        self,
        *,
        total: float,
        done: float = 0,
        shown: bool | Callable[[float], object] | None = None,
        title: str = "simulating",
    ) -> None:
        self.total, self.done, self.title = total, done, title
        self._listener = shown if callable(shown) else None
        self.shown = sys.stderr.isatty() if shown is None else shown is True
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self.title, total=self.total, completed=self.done)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, *, title: str | None = None) -> None:
        """Set the work done so far; `title` says what is under way."""
        done = self.done = max(done, self.done)  # a sum of parts may be rounded below the last one
        if self._listener is not None:
            self._listener(done / self.total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=title or self.title)

    def say(self, text: str) -> None:
        """Print a line on standard error; it stays, above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)
