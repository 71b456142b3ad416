"""A folder that one process at a time may fill.

The lock is an operating system's lock on a small file in the folder.  It vanishes with
its process, however that ends. The file is deleted afterwards.  One that is left after
a crash does no harm: without the lock it means nothing.
"""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from profitable.common.file_lock import try_lock
from profitable.errors import ResultFolderError

LOCK = ".lock"


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
        _unlock(folder / LOCK, handle)
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


def _unlock(path: Path, handle: int) -> None:
    with suppress(OSError):  # Windows does not delete open files
        path.unlink()
    os.close(handle)  # this releases the lock


def _remove_empty(folders: list[Path]) -> None:
    for path in folders:
        with suppress(OSError):
            path.rmdir()
