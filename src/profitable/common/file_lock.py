"""The operating system's locks on an open file.

They vanish with their process, however that ends.
"""

import os
import struct
import sys
from collections.abc import Callable
from functools import cache

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

elif sys.platform == "linux":
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_range(handle: int, first: int, size: int) -> None:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_WRLCK, first, size))

    def unlock_range(handle: int, first: int, size: int) -> None:
        """Unlock some bytes."""
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, first, size))

    def share_range(handle: int, first: int, size: int) -> None:
        """Take a shared lock on some bytes; wait while another process locks them."""
        fcntl.fcntl(handle, fcntl.F_OFD_SETLKW, _range(fcntl.F_RDLCK, first, size))

    @cache
    def _range(kind: int, first: int, size: int) -> bytes:
        return struct.pack("hhqqi4x", kind, os.SEEK_SET, first, size, 0)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_range(handle: int, first: int, size: int) -> None:
        if first == 0:  # which stands for all of it
            _lock(handle)

    def unlock_range(handle: int, first: int, size: int) -> None:
        """Unlock some bytes."""
        if first == 0:
            fcntl.flock(handle, fcntl.LOCK_UN)


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
