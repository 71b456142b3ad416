"""Locks of the operating system: on an open file, and on a folder that is filled.

They vanish with their process, however that ends.  A folder is locked by a small file
in it, which is deleted afterwards.  One that is left after a crash does no harm:
without the lock it means nothing.
"""

import os
import struct
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from profitable.errors import ResultFolderError

LOCK = ".lock"
# Whether single bytes can be locked, also against other threads of one process.
HAS_RANGES = sys.platform == "linux"

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _lock_range(handle: int, first: int, size: int) -> None:
        raise OSError

    def unlock_range(handle: int, first: int, size: int) -> None:
        """Unlock some bytes."""

    def share_range(handle: int, first: int, size: int) -> None:
        """Let everybody in: ranges cannot be locked here."""

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    if sys.platform == "linux":

        def _lock_range(handle: int, first: int, size: int) -> None:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_WRLCK, first, size))

        def unlock_range(handle: int, first: int, size: int) -> None:
            """Unlock some bytes."""
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, first, size))

        def share_range(handle: int, first: int, size: int) -> None:
            """Take a shared lock on some bytes; wait while another has locked them."""
            fcntl.fcntl(handle, fcntl.F_OFD_SETLKW, _range(fcntl.F_RDLCK, first, size))

        @cache
        def _range(kind: int, first: int, size: int) -> bytes:
            return struct.pack("hhqqi4x", kind, os.SEEK_SET, first, size, 0)

    else:

        def _lock_range(handle: int, first: int, size: int) -> None:
            if first == 0:  # which stands for all of it
                _lock(handle)

        def unlock_range(handle: int, first: int, size: int) -> None:
            """Unlock some bytes."""
            if first == 0:
                fcntl.flock(handle, fcntl.LOCK_UN)

        def share_range(handle: int, first: int, size: int) -> None:
            """Let everybody in: ranges cannot be locked here."""


def _try(lock: Callable[..., None], *given: int) -> bool:
    try:
        lock(*given)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def try_lock(handle: int) -> bool:
    """Lock an open file; return False if another process has locked it.

    A file system without locks lets everybody in.
    """
    return _try(_lock, handle)


def try_lock_range(handle: int, first: int, size: int) -> bool:
    """Lock some bytes of an open file, as `try_lock` locks all of it.

    They need not be there.
    """
    return _try(_lock_range, handle, first, size)


@contextmanager
def occupied(folder: Path) -> Generator[None]:
    """Make a folder, check that it can be written, and keep others out.

    Remove it if it is empty at the end.

    ResultFolderError if it cannot be written or if somebody else is filling it.
    """
    made: list[Path] = []
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        handle = _locked(folder / LOCK)
    except OSError as error:
        _remove_empty(made)
        raise ResultFolderError(
            "out",
            str(folder),
            f"cannot be written ({error.strerror or error})",
            "choose another folder",
        ) from None
    if handle is None:
        raise ResultFolderError(
            "out",
            str(folder),
            "is being filled by another run",
            "wait until that is done, or choose another folder",
        )
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not delete open files
            (folder / LOCK).unlink()
        os.close(handle)  # this releases the lock
        _remove_empty(made)


def _locked(path: Path) -> int | None:
    """Return an open, locked file; None if another process has locked it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not try_lock(handle):
            os.close(handle)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)  # the process that had locked it has deleted it: try again


def _remove_empty(folders: list[Path]) -> None:
    for path in folders:
        with suppress(OSError):
            path.rmdir()
