"""A progress bar with the time left, on standard error, if that is a terminal."""

import sys
from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts blocks of runs; parts of a block that is under way count, too."""

    def __init__(self, *, total: int, done: int = 0, shown: bool | None = None, title: str = "simulating") -> None:
        self.total, self.done, self.title = total, done, title
        self.shown = sys.stderr.isatty() if shown is None else shown
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self.title, total=self.total, completed=self.done)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float) -> None:
        """Blocks done so far, with a fraction."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
