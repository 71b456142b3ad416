"""Files that are replaced as a whole: whatever happens, a reader finds the old one or the new one.  Checksums."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def replace_file(path: Path, write: Callable[[Path], object]) -> Path:
    """Replace `path` in one step by a file that `write` fills; returns `path`.

    A link stays, and the file that it points to is replaced.  OSError for what is no regular file, as a device.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def replace_text(path: Path, text: str) -> Path:
    """`replace_file` for a text."""
    return replace_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def replace_json(path: Path, value: object) -> Path:
    """`replace_file` for a value that is written as JSON."""
    return replace_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def checksum_of(content: bytes | str) -> str:
    """The checksum of bytes, or of a text in UTF-8; files keep it beside their content.

    >>> checksum_of("profitable")[:19]
    'sha256:94f2fe083e1b'
    """
    return f"sha256:{hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()}"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
