"""Files that are replaced as a whole: whatever happens, a reader finds the old one or the new one.  Files that are read
as a whole, but not without end.  Checksums."""

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import cast

from profitable.errors import ParameterError

CHECKSUM = '"checksum": "'
MOST_BYTES = 2**32  # of a file that is read as a whole
MOST_PIPED = 2**26  # of a pipe or a device, of which nobody knows whether it ends


def replace_file(path: Path, write: Callable[[Path], object]) -> Path:
    """Replace `path` in one step by a file that `write` fills; returns `path`.

    A link stays, and the file that it points to is replaced.  OSError for what is no regular file, as a device.
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


def read_bytes(path: Path) -> bytes:
    """The content of a file; OSError for one that is too large, as /dev/zero."""
    with path.open("rb") as file:
        most = MOST_BYTES if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else MOST_PIPED
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} megabytes")
    return content


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file, with plain newlines; OSError for one that is too large, UnicodeDecodeError."""
    text = read_bytes(path).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def json_text(value: object) -> str:
    """A value as JSON for people to read: a line for each entry."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_path(field: str, value: object) -> Path:
    """`value` as a path, if it is one or a text that names one."""
    try:
        text = os.fspath(cast("str | bytes", value))
        if isinstance(text, str) and text and b"\0" not in os.fsencode(text):
            return Path(text)
    except (TypeError, UnicodeEncodeError):  # no path at all, or half a surrogate pair
        pass
    raise ParameterError(field, value, "is no path", "give the name of a file or folder")


def checksum_of(content: bytes | str) -> str:
    """The checksum of bytes, or of a text in UTF-8; files keep it beside their content.

    >>> checksum_of("profitable")[:19]
    'sha256:94f2fe083e1b'
    """
    return f"sha256:{hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()}"


def seal(text: str) -> str:
    """The text of a JSON object with a last field `checksum`: that of all text before this field.

    >>> text = seal('{"runs": 100}')
    >>> is_sealed(text), is_sealed(text.replace("100", "900")), is_sealed('{"runs": 100}')
    (True, False, False)
    """
    body = text.rstrip().removesuffix("}").rstrip() + ",\n"
    return f'{body}{CHECKSUM}{checksum_of(body)}"\n}}\n'


def is_sealed(text: str) -> bool:
    """Whether a JSON text ends with its own checksum; any change of the text makes this false."""
    body, _, rest = text.rpartition(CHECKSUM)
    return rest == f'{checksum_of(body)}"\n}}\n'
