"""Files that are written and read as a whole, and their checksums.

Whatever happens while a file is replaced, a reader finds the old one or the new one.
Files without an end are refused.
"""

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from profitable.errors import InputError, NotSavedError, ParameterError

CHECKSUM = '"checksum": "'
MOST_BYTES = 2**32  # of a file that is read as a whole
MOST_PIPED = 2**26  # of a pipe or a device, which may not end


def replace_file(path: Path, write: Callable[[Path], object]) -> Path:
    """Replace `path` in one step by a file that `write` fills; returns `path`.

    A link stays, and the file that it points to is replaced.  OSError for what is no
    regular file, as a device.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    temporary = path.with_name(f".{path.name[:30]}.{secrets.token_hex(8)}.part")
    temporary.touch(mode=0o600 if path.exists() else 0o666, exist_ok=False)
    try:
        mode = (path if path.exists() else temporary).stat().st_mode
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)
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
    return replace_text(path, json_text(value))


@contextmanager
def saving(
    path: Path,
    *,
    field: str = "out",
    remedy: str = "make room there, or choose another folder",
    result: object = None,
) -> Generator[None]:
    """Turn an OSError into a NotSavedError that keeps the `result`."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        failed = NotSavedError(field, str(path), problem, remedy)
        failed.result = result
        raise failed from None


@contextmanager
def reading_file(field: str, path: object, remedy: str) -> Generator[None]:
    """Turn an OSError into an InputError."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise InputError(field, str(path), problem, remedy) from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; OSError if it is too large, like /dev/zero."""
    with path.open("rb") as file:
        most = MOST_BYTES if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else MOST_PIPED
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} megabytes")
    return content


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file, with plain newlines.

    OSError if it is too large, UnicodeDecodeError if it is in another encoding.
    """
    text = read_bytes(path).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def json_text(value: object) -> str:
    """Return a value as JSON for people to read: a line for each entry."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_path(field: str, value: object) -> Path:
    """Return `value` as a path if it is one or a text that names one."""
    try:
        text = os.fspath(cast("str | bytes", value))
        if isinstance(text, str) and text and b"\0" not in os.fsencode(text):
            return Path(text)
    except (TypeError, UnicodeEncodeError):  # no path at all, or half a surrogate pair
        pass
    raise ParameterError(field, value, "must be a path", "give the name of a file or folder")


def checksum_of(content: bytes | str) -> str:
    """Return the checksum of bytes, or of a text in UTF-8.

    Files store it with their content.

    >>> checksum_of("profitable")[:19]
    'sha256:94f2fe083e1b'
    """
    plain = content.encode() if isinstance(content, str) else content
    return f"sha256:{hashlib.sha256(plain).hexdigest()}"


def seal(text: str) -> str:
    """Return the text of a JSON object with a last field `checksum`.

    That of all text before this field.

    >>> text = seal('{"runs": 100}')
    >>> is_sealed(text), is_sealed(text.replace("100", "900"))
    (True, False)
    """
    body = text.rstrip().removesuffix("}").rstrip() + ",\n"
    return f'{body}{CHECKSUM}{checksum_of(body)}"\n}}\n'


def is_sealed(text: str) -> bool:
    """Return whether a JSON text ends with its own checksum.

    Any change of the text makes this false.
    """
    body, _, rest = text.rpartition(CHECKSUM)
    return rest == f'{checksum_of(body)}"\n}}\n'
