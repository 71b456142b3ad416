"""Held: one connection to a database, and how it ends.

SQLite keeps its locks for a process.  A process that is forked while a file is open has no lock on it, and SQLite there
believes that it has: also a new connection to the same file is wrong then, and so is closing the old one
(https://sqlite.org/howtocorrupt.html).  So files are closed before a fork, if nobody is using them at this moment, and
both processes open them again when they need them.  A file that was in use is refused in the child.
The socket of a server is shared by both processes: the child leaves it to the parent, and connects anew.
"""

import ctypes
import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from profitable.errors import ForkedError, NotStoredError
from profitable.portfolio.database_file import DatabaseFile, identity_of

_all: "dict[int, Held]" = {}  # all that are open, and in a child those that its parent had opened


class Held:
    """An open connection: who opened it, and its file if SQLite locks it."""

    def __init__(self, engine: sa.Engine, connection: sa.Connection, lock: Any) -> None:
        self._engine, self._connection, self._lock = engine, connection, lock  # the lock of the threads that use it
        self.file: DatabaseFile | None = None
        self._process = os.getpid()
        self.is_open, self.is_lost = True, False  # lost: the file was removed or replaced
        _all[id(self)] = self

    @property
    def is_ours(self) -> bool:
        """Whether this process has opened it."""
        return self._process == os.getpid()

    def let_go(self) -> None:
        """Close it; or leave it alone for ever, if it is not ours to close."""
        if not self.is_open:
            return
        self.is_open = False
        self.is_lost = self.is_ours and self.file is not None and self.file.is_replaced()
        with self.file.closing() if self.is_ours and self.file is not None else nullcontext(self.is_ours) as may_close:
            if not may_close:
                ctypes.pythonapi.Py_IncRef(
                    ctypes.py_object(self._connection)
                )  # so that Python does not close it either
                return
            del _all[id(self)]
            with suppress(SQLAlchemyError):
                self._connection.close()
            self._engine.dispose()

    def let_go_of_file(self) -> None:
        """Close a file, unless a thread is using it."""
        if self.file is not None and self.is_ours and self.is_open and self._lock.acquire(blocking=False):
            try:
                driver: Any = self._connection.connection.dbapi_connection
                if not driver.in_transaction:  # of this thread
                    self.let_go()
            finally:
                self._lock.release()


def check_unspoilt(name: str, path: Path) -> None:
    """ForkedError or NotStoredError if SQLite has wrong ideas about a file in this process."""
    identity = identity_of(path)
    for held in [each for each in list(_all.values()) if each.file is not None and each.file.identity == identity]:
        if not held.is_ours:
            raise in_use(name)
        if held.file is not None and held.file.is_replaced():
            held.let_go_of_file()
            if id(held) in _all:
                raise replaced(name)


def in_use(name: str) -> ForkedError:
    """The error for a portfolio whose connection belongs to the parent of this process."""
    problem = "was in use when this process was forked"
    return ForkedError("portfolio", name, problem, "fork while nobody uses it, or spawn the process")


def replaced(name: str) -> NotStoredError:
    """The error for a file that is not the one that was opened."""
    problem = "was removed or replaced while it was open, so nothing was stored"
    return NotStoredError("portfolio", name, problem, "put it back, and open it again")


def _before_a_fork() -> None:
    for held in list(_all.values()):
        held.let_go_of_file()


def _in_a_child() -> None:
    for held in list(_all.values()):
        if held.file is not None:
            held.file.queue.close()  # or the lock could outlive the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_a_fork, after_in_child=_in_a_child)
