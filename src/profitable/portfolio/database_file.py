"""Files of SQLite: how they are opened, written in turn, kept over a fork, and closed.

SQLite keeps its locks per process.  A process that is forked while a file is open has
no lock on it, and SQLite there believes that it has: also a new connection to the same
file is wrong then, and so is closing the old one
(https://sqlite.org/howtocorrupt.html).  So files are closed before a fork, if nobody is
using them at this moment, and both processes open them again when they need them.  A
file that was in use is refused in the child.  The socket of a server is shared by both
processes: the child leaves it to the parent, and opens a new connection.
"""

import ctypes
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from profitable.common.locks import HAS_RANGES, share_range, try_lock_range, unlock_range
from profitable.errors import BusyPortfolioError, ForkedError, NotStoredError, PortfolioError
from profitable.portfolio.location import SEND_AGAIN, damaged, not_a_portfolio

# The bytes that SQLite locks to read and, if it wants the file for itself, to write.
SHARED = 0x40000002, 510
READ_ONLY = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_AUTH,
)
Identity = tuple[int, int] | None  # the device and the number of a file; None if there is none


SEATS = 16  # beyond them, it is chance who is next
# Seconds between two looks, and as a share of the time waited so far.
SHORTEST_PAUSE, LONGEST_PAUSE, PAUSE_SHARE = 0.0002, 0.005, 0.02


class WaitedTooLong(Exception):
    """Others wrote for longer than one wants to wait."""


class WriteQueue:
    """The place of one connection in the queue of those who write to a file.

    First come, first served.  Writers lock bytes of the log, the file that SQLite keeps
    next to the database (`lending.db-wal`).  SQLite itself never locks the log.  The
    first byte is the turn to write.  The others are seats: who waits takes the last
    one, and moves on when the next one is free.  (Where an operating system cannot lock
    single bytes, it is chance who is next.)  The turn lasts from the beginning of a
    transaction to its end, the checkpoint of the commit included, for two reasons:

    - SQLite lets a waiting writer sleep longer and longer, so that others who come
      later can keep it out for seconds.
    - Up to version 3.51.2 of SQLite, a checkpoint and a writer who resets the log at
      the same instant can corrupt the database
      (https://sqlite.org/wal.html#walresetbug).

    Without a log, nobody queues.
    """

    def __init__(self, log: Path) -> None:
        self._handle: int | None = None
        # There is none; or it was removed, as the next one who writes will see.
        with suppress(OSError):
            self._handle = os.open(log, os.O_RDWR)

    def enter(self, wait: float) -> float:
        """Wait until one is the only one who writes; returns what is left of the time.

        WaitedTooLong if it is over.
        """
        if (handle := self._handle) is None:
            return wait
        if try_lock_range(handle, 0, SEATS):  # nobody is here
            unlock_range(handle, 1, SEATS - 1)
            return wait
        start, left = time.monotonic(), wait
        for seat in reversed(range(SEATS)):
            while not try_lock_range(handle, seat, 1):
                waited = time.monotonic() - start
                if (left := wait - waited) <= 0.0:
                    raise WaitedTooLong
                time.sleep(min(LONGEST_PAUSE, max(SHORTEST_PAUSE, PAUSE_SHARE * waited)))
            if seat < SEATS - 1:
                unlock_range(handle, seat + 1, 1)
        return left

    def leave(self) -> None:
        """Let the next one write, or do not wait any more."""
        if self._handle is not None:
            unlock_range(self._handle, 0, SEATS)

    def close(self) -> None:
        """Leave the queue, or leave the place to the process that was forked."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class DatabaseFile:
    """The files of an open connection, and the queue of those who write to them.

    What is written to a file that was removed while it was open is lost.
    """

    def __init__(self, path: Path) -> None:
        """Note the files that a connection has opened."""
        log = log_of(path)
        self._paths = (str(path.absolute()), str(log), f"{str(log).removesuffix('-wal')}-shm")
        self._before, self._changed = _look(*self._paths)
        self.queue = WriteQueue(log)

    @property
    def identity(self) -> Identity:
        """The identity of the database, whatever its name."""
        return self._before[0]

    def is_replaced(self) -> bool:
        """Whether one of the files was removed or replaced."""
        found, changed = _look(*self._paths)
        if found == self._before:
            self._changed = changed
        return found != self._before

    @contextmanager
    def closing(self) -> Generator[bool]:
        """Yield whether the connection may be closed, and guard its closing.

        SQLite then writes its log into the database and removes the log, if nobody else
        has the database open.  If the log is another one by now, that would overwrite
        what others have written, so SQLite is made to believe that somebody has.  If
        the log is only gone, and nobody has written since, it is the last chance to
        keep it.
        """
        now, changed = _look(*self._paths)
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


def _look(*paths: str) -> tuple[list[Identity], int]:
    """Return the identities of files, and when the first was written."""
    found = [_status_of(path) for path in paths]
    changed = 0 if found[0] is None else found[0].st_mtime_ns
    return [None if each is None else (each.st_dev, each.st_ino) for each in found], changed


def _status_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  # with every commit, so it has to be fast
    except OSError:
        return None


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log, behind links."""
    return Path(f"{path.resolve()}-wal")


def content_mark(path: Path) -> object:
    """Return a mark that differs once a file has changed."""
    with suppress(OSError), path.open("rb") as file:
        found = os.fstat(file.fileno())
        # The header counts some changes.
        return found.st_ino, found.st_size, found.st_mtime_ns, file.read(100)
    return "unreadable"


def sqlite_options(path: Path) -> str:
    """Return the options to open a file with; PortfolioError if it cannot be."""
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:  # a folder that may not be entered, or a name that is too long
        raise PortfolioError(
            "portfolio",
            str(path),
            f"cannot be opened ({(error.strerror or 'unknown reason').lower()})",
            "give the file of a portfolio",
        ) from None
    if is_folder:
        raise PortfolioError("portfolio", str(path), "is a folder", "give the file of a portfolio")
    if not is_there:
        raise PortfolioError(
            "portfolio",
            str(path),
            "does not exist",
            "create it with `profitable portfolio create`, or give the file of a portfolio",
        )
    if os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK):
        return "mode=rw"
    # For an auditor.  Without a log, nobody is writing at this moment.  A lock would
    # need a new file, so `content_mark` tells whether somebody has begun to write.
    return "mode=ro" if log_of(path).exists() else "mode=ro&immutable=1"


def sqlite_engine(path: Path, wait: float, options: str) -> sa.Engine:
    """Return an engine that opens a file."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?{options}",
            uri=True,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
        )

    engine = sa.create_engine(
        "sqlite://", creator=connect, poolclass=StaticPool, isolation_level="AUTOCOMMIT"
    )

    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA synchronous = FULL")

    def keep(context: Any) -> None:
        # After Ctrl-C, SQLAlchemy would drop the connection with its statement, and so
        # keep the lock.
        context.is_disconnect = False

    event.listen(engine, "connect", prepare)
    event.listen(engine, "handle_error", keep)
    return engine


# All that are open, and in a child those that its parent had opened.
_all: "dict[int, HeldConnection]" = {}


class HeldConnection:
    """An open connection: who opened it, and its file if SQLite locks it."""

    def __init__(self, engine: sa.Engine, connection: sa.Connection, lock: Any) -> None:
        # The lock of the threads that use it.
        self._engine, self._connection, self._lock = engine, connection, lock
        self.file: DatabaseFile | None = None
        self._process = os.getpid()
        self.is_open, self.is_lost = True, False  # lost: the file was removed or replaced
        _all[id(self)] = self

    @property
    def is_ours(self) -> bool:
        """Whether this process has opened it."""
        return self._process == os.getpid()

    def let_go(self) -> None:
        """Close it, or leave it open for ever if it is not ours to close."""
        if not self.is_open:
            return
        self.is_open = False
        self.is_lost = self.is_ours and self.file is not None and self.file.is_replaced()
        closing: Any = nullcontext(self.is_ours)
        if self.is_ours and self.file is not None:
            closing = self.file.closing()
        with closing as may_close:
            if not may_close:
                # So that Python does not close it either.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
                return
            del _all[id(self)]
            with suppress(SQLAlchemyError):
                self._connection.close()
            self._engine.dispose()

    def let_go_of_file(self) -> None:
        """Close a file, unless a thread is using it."""
        is_mine = self.file is not None and self.is_ours and self.is_open
        if is_mine and self._lock.acquire(blocking=False):
            try:
                driver: Any = self._connection.connection.dbapi_connection
                if not driver.in_transaction:  # of this thread
                    self.let_go()
            finally:
                self._lock.release()


def check_unspoilt(name: str, path: Path) -> None:
    """ForkedError or NotStoredError if this process holds a stale lock on a file."""
    (identity,), _ = _look(str(path))
    for held in list(_all.values()):
        if held.file is None or held.file.identity != identity:
            continue
        if not held.is_ours:
            raise in_use(name)
        if held.file.is_replaced():
            held.let_go_of_file()
            if id(held) in _all:
                raise replaced(name)


def in_use(name: str) -> ForkedError:
    """Return the error for a connection that belongs to the parent process."""
    return ForkedError(
        "portfolio",
        name,
        "was in use when this process was forked",
        "fork while nobody uses it, or spawn the process",
    )


def replaced(name: str) -> NotStoredError:
    """Return the error for a file that is not the one that was opened."""
    return NotStoredError(
        "portfolio",
        name,
        "was removed or replaced while it was open, so nothing was stored",
        "put it back, and open it again",
    )


def _before_a_fork() -> None:
    for held in list(_all.values()):
        held.let_go_of_file()


def _in_a_child() -> None:
    for held in list(_all.values()):
        if held.file is not None:
            held.file.queue.close()  # or the lock could outlive the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_a_fork, after_in_child=_in_a_child)


def sqlite_version() -> str:
    """Return the version of SQLite, and whether it has the WAL-reset bug."""
    version = sqlite3.sqlite_version_info
    first = {44: 6, 50: 7, 51: 3}  # the first patch of a series that is corrected
    is_corrected = version >= (3, 52) or version[2] >= first.get(version[1], 1_000)
    return (
        f"SQLite {sqlite3.sqlite_version}{'' if is_corrected else ', which has the WAL-reset bug'}"
    )


def sqlite_meaning(name: str, code: int, reason: str) -> PortfolioError:
    """Return an error code of SQLite as one of our errors."""
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return BusyPortfolioError("portfolio", name, "is locked by another process", SEND_AGAIN)
        case sqlite3.SQLITE_NOTADB:
            return not_a_portfolio(name, " (the file is not a database)")
        case sqlite3.SQLITE_ERROR if "no such table" in reason:  # it has no code of its own
            return not_a_portfolio(name)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_ERROR:
            return damaged(name, reason)
        case sqlite3.SQLITE_FULL:
            problem, remedy = "cannot be written: the disk is full", f"make room and {SEND_AGAIN}"
        case _:
            problem = f"cannot be written ({reason})"
            remedy = "make the file and its folder writable" if code in READ_ONLY else SEND_AGAIN
    return NotStoredError("portfolio", name, problem, remedy)
