r"""Standard output that may be closed, in any encoding, or without a reader.

A decision is stored before it is printed.  So nothing about printing may look as if it
was not: letters that the encoding does not have are written as \u65e5, and what nobody
reads is dropped.  A full disk is still an error.
"""

import codecs
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ESCAPE = "profitable.escape"  # how letters are written that the encoding does not have


def prepare_streams() -> None:
    """Make the three standard streams usable, whatever the caller made of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the number, so that no file of ours gets it
    codecs.register_error(ESCAPE, _escaped)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  it stays open
    stdout: Any = sys.stdout
    if stdout is sys.__stdout__ and isinstance(stdout, io.TextIOWrapper):
        stdout.flush()
        buffer = io.BufferedWriter(_Output(stdout.fileno(), "w", closefd=False))
        by_line = stdout.line_buffering
        sys.stdout = io.TextIOWrapper(
            buffer, encoding=stdout.encoding, errors=ESCAPE, line_buffering=by_line
        )


class _Output(io.FileIO):
    """A file in which everything is lost once its reader has left, as `head` does."""

    _is_read = True

    def write(self, data: Any, /) -> int:
        if self._is_read:
            try:
                return super().write(data)
            except BrokenPipeError:
                self._is_read = False
            except OSError:
                # What is still buffered fails once, not again at the end of the
                # process.
                self._is_read = False
                raise
        return memoryview(data).nbytes


def in_ascii(json_text: str) -> str:
    r"""JSON in which all letters beyond ASCII are escaped.

    >>> in_ascii('{"name": "caf\u00e9"}')
    '{"name": "caf\\u00e9"}'
    """
    return re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], json_text)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Write letters that cannot be encoded as JSON does, such as \u65e5."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)
    ), error.end
