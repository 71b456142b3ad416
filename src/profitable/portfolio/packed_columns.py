"""Packed columns of a decision: short, exact, and readable if they are few.

- Up to 32 entries are a list.
- More entries that are all the same number are that number.
- Other numbers are `f8:` or `i8:` and base64 of their bytes, compressed by zlib: all
  first bytes, then all second bytes, and so on.
- Anything else, such as names, is `json:` and base64 of the list as JSON, compressed.

Numbers are doubles or 64-bit integers, little-endian, so not a bit is lost.  `unpacked`
reads every form of every column; version 0.2.0 wrote lists only.

>>> packed({"name": ["a", "b"], "evidence": np.array([0.5, 2.0])})
{'name': ['a', 'b'], 'evidence': [0.5, 2.0]}
>>> names = [f"segment {i}" for i in range(1_000)]
>>> many = packed({"name": names, "paused": np.zeros(1_000, dtype=int)})
>>> many["name"][:5], many["paused"], len(unpacked(many)["paused"])
('json:', 0, 1000)
"""

import binascii
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from profitable.common.types import FloatArray, IntArray

READABLE = 32  # entries that are written as a list
ZLIB_LEVEL = 1  # the others take four times as long and save a twentieth
MOST_UNPACKED = 2**30  # of a column, unpacked
DOUBLES, INTEGERS, JSON = "f8:", "i8:", "json:"


def packed(columns: Mapping[str, FloatArray | IntArray | Sequence[Any]]) -> dict[str, Any]:
    """Return the columns as JSON-ready values; arrays are packed as numbers."""
    return {name: _packed(column) for name, column in columns.items()}


def _packed(column: FloatArray | IntArray | Sequence[Any]) -> Any:
    if not isinstance(column, np.ndarray):
        return (
            list(column)
            if len(column) <= READABLE
            else JSON + _squeezed(to_json(column, inf_nan_mode="constants"))
        )
    if column.size <= READABLE:
        return column.tolist()
    whole = column.dtype.kind == "i"
    numbers = np.ascontiguousarray(column, dtype="<i8" if whole else "<f8")
    bits = numbers.view(np.int64)
    if (bits == bits[0]).all():
        return numbers[0].item()
    return (INTEGERS if whole else DOUBLES) + _squeezed(
        numbers.view(np.uint8).reshape(-1, 8).T.tobytes()
    )


def _squeezed(content: bytes) -> str:
    return binascii.b2a_base64(zlib.compress(content, ZLIB_LEVEL), newline=False).decode()


def unpacked(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns as lists; ValueError, TypeError or KeyError if broken."""
    names = _unpacked(columns["name"], 0)
    found = {name: _unpacked(column, len(names)) for name, column in columns.items()}
    if any(len(column) != len(names) for column in found.values()):
        raise ValueError("columns of different lengths")
    return found


def _unpacked(column: Any, size: int) -> list[Any]:
    if isinstance(column, list):
        return column  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(column, str):
        return [float(column) if isinstance(column, float) else int(column)] * size
    kind, _, content = column.partition(":")
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(binascii.a2b_base64(content, strict_mode=True), MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if f"{kind}:" == JSON:
        return [*from_json(plain)]
    types = {DOUBLES: "<f8", INTEGERS: "<i8"}
    planes = np.frombuffer(plain, dtype=np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view(types[f"{kind}:"]).ravel().tolist()
