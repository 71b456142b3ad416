"""Write queue: who wants to write to a file of SQLite waits here, first come, first served.

Writers lock bytes of the log, the file that SQLite keeps beside the database (`lending.db-wal`).  SQLite itself never
locks the log.  The first byte is the turn to write.  The others are seats: who waits takes the last one, and moves on
when the next one is free.  (Where an operating system cannot lock single bytes, it is chance who is next.)  The turn
lasts from the beginning of a transaction to its end, the checkpoint of the commit included, for two reasons:

- SQLite lets a waiting writer sleep longer and longer, so that others who come later can keep it out for seconds.
- Up to version 3.51.2 of SQLite, a checkpoint and a writer who resets the log at the same instant can corrupt the
  database (https://sqlite.org/wal.html#walresetbug).
"""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from profitable.common.file_lock import try_lock_range, unlock_range

SEATS = 16  # beyond them, it is chance who is next
SHORTEST_PAUSE, LONGEST_PAUSE, PAUSE_SHARE = (
    0.0002,
    0.005,
    0.02,
)  # seconds between two looks, and as a share of the time waited so far


class WaitedTooLong(Exception):
    """Others wrote for longer than one wants to wait."""


class WriteQueue:
    """The place of one connection in the queue of a log.  Without a log, nobody queues."""

    def __init__(self, log: Path) -> None:
        self._handle: int | None = None
        with suppress(OSError):  # there is none; or it was removed, as the next one who writes will see
            self._handle = os.open(log, os.O_RDWR)

    def enter(self, wait: float) -> float:
        """Wait until one is the only one who writes; returns what is left of the time.  WaitedTooLong if it is over."""
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
        """Leave the queue; or leave the place to the process that has forked this one."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def sqlite_version() -> str:
    """The version of SQLite, and whether it can corrupt a log that others write to without queueing."""
    version = sqlite3.sqlite_version_info
    first = {44: 6, 50: 7, 51: 3}  # the first patch of a series that is corrected
    is_corrected = version >= (3, 52) or version[2] >= first.get(version[1], 1_000)
    return f"SQLite {sqlite3.sqlite_version}{'' if is_corrected else ', which has the WAL-reset bug'}"
