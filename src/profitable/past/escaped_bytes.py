r"""Bytes that are not UTF-8, as letters of the private use area.

Arrow refuses such bytes, and cannot even say which row has them.  Read through
`EscapedBytes`, a file is valid, and its rows can be looked at.

>>> stream = EscapedBytes(io.BytesIO(b"a\xffb, \xc3\xa4"))
>>> text = stream.read().decode()
>>> text == f"a{chr(0xF7FF)}b, ä", unescaped(text) == "a\udcffb, ä"
(True, True)
"""

import codecs
import io
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

ESCAPED = "[\uf780-\uf7ff]"  # the bytes 0x80 to 0xff
TO_PRIVATE = {0xDC00 + byte: 0xF700 + byte for byte in range(0x80, 0x100)}
TO_SURROGATE = {private: surrogate for surrogate, private in TO_PRIVATE.items()}
BYTES_READ = 1 << 16


class EscapedBytes(io.RawIOBase):
    """A stream whose bytes are valid UTF-8."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes; none at the end."""
        while size < 0 or len(self._rest) < size:
            data = bytes(self._stream.read(BYTES_READ))
            text = self._decoder.decode(data, final=not data)
            self._rest += text.translate(TO_PRIVATE).encode()
            if not data:
                size = len(self._rest) if size < 0 else size
                break
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def unescaped(text: str) -> str:
    """Return a text with the surrogates of Python in place of escaped bytes."""
    return text.translate(TO_SURROGATE)


@contextmanager
def undecoded_rows(heard: Callable[[], object]) -> Generator[None]:
    """Hear that Arrow could not decode a row for its handler, which it cannot raise."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, UnicodeDecodeError):
            heard()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
