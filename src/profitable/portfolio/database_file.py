"""Database file: how SQLite opens the file of a portfolio, and what may happen to the file meanwhile."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import StaticPool

from profitable.common.file_lock import HAS_RANGES, share_range
from profitable.errors import PortfolioError
from profitable.portfolio.write_queue import WriteQueue

SHARED = 0x40000002, 510  # the bytes that SQLite locks to read and, if it wants the file for itself, to write
Identity = tuple[int, int] | None  # the device and the number of a file; None if there is none


class DatabaseFile:
    """The files of a connection: are they still those that have the names, and whose turn is it to write to them?

    A file that is removed while it is open can still be written to, and what is written is lost.
    """

    def __init__(self, path: Path) -> None:
        """Look at the files of a connection that has read something, and so has opened them."""
        log = log_of(path)
        self._paths = (str(path.absolute()), str(log), f"{str(log).removesuffix('-wal')}-shm")
        self._before, self._changed = self._look()
        self.queue = WriteQueue(log)

    def _look(self) -> tuple[list[Identity], int]:
        """Which files have the names, and when the database itself was last written to, in a checkpoint."""
        found = [_status_of(path) for path in self._paths]
        changed = 0 if found[0] is None else found[0].st_mtime_ns
        return [None if each is None else (each.st_dev, each.st_ino) for each in found], changed

    @property
    def identity(self) -> Identity:
        """Which file it is, whatever its name."""
        return self._before[0]

    def is_replaced(self) -> bool:
        """Whether one of the files was removed or replaced."""
        found, changed = self._look()
        if found == self._before:
            self._changed = changed
        return found != self._before

    @contextmanager
    def closing(self) -> Generator[bool]:
        """While the connection is closed; the value is whether it may be.

        SQLite then writes its log into the database and removes the log, if nobody else has the database open.  If the
        log is another one by now, that would overwrite what others have written, so SQLite is made to believe that
        somebody has.  If the log is only gone, and nobody has written since, it is the last chance to keep it.
        """
        now, changed = self._look()
        is_last = now == [self.identity, None, None] and changed == self._changed
        try:
            if now[0] != self.identity or now == self._before or is_last:
                yield True
            elif not HAS_RANGES:
                yield False
            else:
                handle = os.open(self._paths[0], os.O_RDONLY)
                try:
                    share_range(handle, *SHARED)
                    yield True
                finally:
                    os.close(handle)
        finally:
            self.queue.close()


def identity_of(path: str | Path) -> Identity:
    """Which file has a name; None if there is none."""
    found = _status_of(str(path))
    return None if found is None else (found.st_dev, found.st_ino)


def _status_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  # with every commit, so it has to be fast
    except OSError:
        return None


def log_of(path: Path) -> Path:
    """Where SQLite keeps what is not in the file yet: beside the file itself, if the path is a link."""
    return Path(f"{path.resolve()}-wal")


class Frozen:
    """A file that is read without a lock, because we may not write there: has somebody else written to it?"""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = self._state()

    def _state(self) -> object:
        with suppress(OSError), self._path.open("rb") as file:
            found = os.fstat(file.fileno())
            return found.st_ino, found.st_size, found.st_mtime_ns, file.read(100)  # the header counts some changes
        return None

    def has_changed(self) -> bool:
        """Whether the file is another one than when it was opened."""
        return self._state() != self._before


def sqlite_options(path: Path) -> str:
    """How a file is opened; PortfolioError if it cannot be."""
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:  # a folder that may not be entered, or a name that is too long
        problem = f"cannot be opened ({(error.strerror or 'unknown reason').lower()})"
        raise PortfolioError("portfolio", str(path), problem, "give the file of a portfolio") from None
    if is_folder:
        raise PortfolioError("portfolio", str(path), "is a folder", "give the file of a portfolio")
    if not is_there:
        remedy = "make it with `profitable portfolio create`, or give the file of a portfolio"
        raise PortfolioError("portfolio", str(path), "does not exist", remedy)
    if os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK):
        return "mode=rw"
    # For an auditor.  Without a log beside it, nobody is writing at this moment.  A lock would need a file beside it,
    # so `Frozen` looks whether somebody has begun to write.
    return "mode=ro" if log_of(path).exists() else "mode=ro&immutable=1"


def sqlite_engine(path: Path, wait: float, options: str) -> sa.Engine:
    """How SQLAlchemy reaches a file."""

    def connect() -> sqlite3.Connection:
        where = f"file:{quote(str(path.absolute()))}?{options}"
        return sqlite3.connect(where, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=StaticPool, isolation_level="AUTOCOMMIT")

    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA synchronous = FULL")

    def keep(context: Any) -> None:
        # After Ctrl-C, SQLAlchemy would drop the connection with its statement, and so keep the lock.
        context.is_disconnect = False

    event.listen(engine, "connect", prepare)
    event.listen(engine, "handle_error", keep)
    return engine
