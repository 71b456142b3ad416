"""Columns: a column of a piece as numbers, flags or texts.  A cell that cannot be read is named: file, row and column.

>>> from profitable.replay.source import open_source
>>> piece = next(open_source({"y": ["1", "", "x"]}).pieces(["y"]))
>>> numbers(piece, "y")
Traceback (most recent call last):
profitable.errors.InputError: the table, row 3, column y = 'x' is not a number; correct it, or leave the cell empty.
"""

from typing import Any

import numpy as np

from profitable.common.check import LARGEST
from profitable.common.types import BoolArray, FloatArray
from profitable.errors import InputError
from profitable.replay.source import Piece, pyarrow

# What people and programs write for nothing.  In a category these are names like others: NA may be Namibia.
NOTHING = ("", "NA", "N/A", "#N/A", "n/a", "na", "NaN", "nan", "-nan", "NULL", "null", "None", "none", "NaT", "-", ".")
YES_AND_NO = {
    "1": 1.0,
    "0": 0.0,
    "true": 1.0,
    "false": 0.0,
    "yes": 1.0,
    "no": 0.0,
    "t": 1.0,
    "f": 0.0,
    "y": 1.0,
    "n": 0.0,
}


def numbers(piece: Piece, column: str, remedy: str = "correct it, or leave the cell empty") -> FloatArray:
    """A column as numbers, NaN where a cell is empty."""
    pa = pyarrow()
    values = _decoded(piece.column(column))
    kind = values.type
    if is_text(kind):
        numeric = _numbers_of_texts(piece, column, values, remedy)
    elif pa.types.is_boolean(kind):
        numeric = values.cast(pa.uint8()).cast(pa.float64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        numeric = values.cast(pa.float64(), safe=False)
    else:
        index = first_given(values)
        raise piece.error(column, index, values[index].as_py(), f"is of the type {kind}, not a number", remedy)
    plain = np.array(
        numeric.fill_null(np.nan) if numeric.null_count else numeric
    )  # a copy: Arrow's memory is read-only
    too_large = np.abs(plain) > LARGEST
    if too_large.any():
        index = int(too_large.argmax())
        raise piece.error(column, index, float(plain[index]), "is not a finite number of reasonable size", remedy)
    return plain


def _numbers_of_texts(piece: Piece, column: str, values: Any, remedy: str) -> Any:
    pa = pyarrow()
    pc = pyarrow("compute")
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    trimmed = pc.utf8_trim_whitespace(values)
    given = pc.if_else(pc.is_in(trimmed, pa.array(NOTHING, trimmed.type)), pa.scalar(None, trimmed.type), trimmed)
    try:
        return given.cast(pa.float64())
    except pa.ArrowInvalid:
        for index, text in enumerate(given.to_pylist()):
            if text is not None and not _is_number(text):
                raise piece.error(column, index, text, "is not a number", remedy) from None
        raise InputError(column, piece.place, "holds numbers that cannot be read", remedy) from None


def _is_number(text: str) -> bool:
    pa = pyarrow()
    try:
        pa.array([text]).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def complete(piece: Piece, column: str, remedy: str, needed: BoolArray | None = None) -> FloatArray:
    """As `numbers`, but no cell may be empty, at least none that is `needed`."""
    values = numbers(piece, column, remedy)
    empty = np.isnan(values) if needed is None else np.isnan(values) & needed
    if empty.any():
        raise piece.error(column, int(empty.argmax()), None, "is missing", remedy)
    return values


def flags(piece: Piece, column: str) -> BoolArray:
    """A column of 0 and 1, or of words such as yes and no."""
    remedy = "give 0 or 1 for every client"
    values = _decoded(piece.column(column))
    if is_text(values.type):
        encoded = values.dictionary_encode()
        words = [
            None if word is None else YES_AND_NO.get(word.strip().lower()) for word in encoded.dictionary.to_pylist()
        ]
        if None not in words:
            pa = pyarrow()
            values = pa.array(words, pa.float64()).take(encoded.indices)
            plain = np.asarray(values.fill_null(np.nan))
        else:
            plain = numbers(piece, column, remedy)
    else:
        plain = numbers(piece, column, remedy)
    wrong = (plain != 0.0) & (plain != 1.0)
    if wrong.any():
        index = int(wrong.argmax())
        value = None if np.isnan(plain[index]) else float(plain[index])
        raise piece.error(column, index, value, "is missing" if value is None else "is neither 0 nor 1", remedy)
    return plain == 1.0


def equals(piece: Piece, column: str, value: str) -> FloatArray:
    """1 where a column has a value, 0 elsewhere, NaN where it is empty."""
    pa = pyarrow()
    pc = pyarrow("compute")
    values = _decoded(piece.column(column))
    texts = values if is_text(values.type) else values.cast(pa.string())
    same = pc.equal(texts, pa.scalar(value, texts.type)).cast(pa.uint8()).cast(pa.float64())
    return np.array(same.fill_null(np.nan))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is the plain one of texts."""
    return pyarrow().types.is_string(kind)


def first_given(values: Any) -> int:
    """The place of the first cell that is not empty; 0 if all are."""
    given = np.asarray(values.is_valid())
    return int(given.argmax())


def _decoded(values: Any) -> Any:
    pa = pyarrow()
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
