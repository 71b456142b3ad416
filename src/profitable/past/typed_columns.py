"""Typed columns: a column of a piece as numbers, flags or times.

A field that cannot be read is named by its file, row and column.

>>> from profitable.past.source import open_source, pa, pc
>>> piece = next(open_source({"y": ["x"]}).pieces(["y"]))
>>> numbers(piece, "y", "fix it")
Traceback (most recent call last):
profitable.errors.InputError: the table, row 1, column y = 'x' is not a number; fix it.

A time is kept as a whole number: microseconds since 1970, or the number itself if the
column holds whole numbers.

>>> piece = next(open_source({"when": ["2026-01", "2026-03", None]}).pieces(["when"]))
>>> dates = Dates(("when",))
>>> times = dates.read(piece).astype("datetime64[us]").astype("datetime64[M]")
>>> times.astype(str).tolist(), dates.kind
(['2026-01', '2026-03', 'NaT'], 'month')
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from profitable.common.check import LARGEST, MOST
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import InputError
from profitable.intake.fields import FieldError, parse_moment
from profitable.intake.quantities import Quantity, quantity
from profitable.past.calendar_rounds import (
    DATE,
    EXAMPLES,
    MISSING,
    MONTH,
    NOTHING,
    NUMBER,
    TIMESTAMP,
    ZONED,
)
from profitable.past.source import Piece, pa, pc

YES_AND_NO = {
    **dict.fromkeys(("1", "true", "yes", "t", "y"), 1.0),
    **dict.fromkeys(("0", "false", "no", "f", "n"), 0.0),
}
EPOCH = datetime(1970, 1, 1)
PATTERNS = {
    NUMBER: r"^[+-]?\d{1,18}$",
    MONTH: r"^\d{4}-\d{2}$",
    DATE: r"^\d{4}-\d{2}-\d{2}$",
    TIMESTAMP: r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$",
    ZONED: r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$",
}
USUAL_FORMATS = (
    *("%b-%Y", "%d-%b-%y", "%d-%b-%Y", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%d/%m/%y"),
    *("%m/%d/%y", "%Y/%m/%d", "%b %Y", "%b %d, %Y", "%d %b %Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M"),
    *("%d/%m/%Y %H:%M", "%b-%y", "%Y.%m.%d", "%m/%Y"),
)
TEXTS_TRIED = 1_000  # texts, to see whether they have a usual format
FORMAT_REMEDY = 'write dates as 2026-01-31, or give their format: date_format = "%d.%m.%Y"'


def numbers(
    piece: Piece, column: str, remedy: str = "correct it, or leave the field empty"
) -> FloatArray:
    """Return a column as numbers, NaN where a field is empty."""
    return numbers_of(piece, column, decoded(piece.column(column)), remedy)


def numbers_of(piece: Piece, column: str, values: Any, remedy: str) -> FloatArray:
    """Return values of a column as numbers, NaN where one is missing."""
    kind = values.type
    if is_text(kind):
        numeric = _numbers_of_texts(piece, column, values, remedy)
    elif any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_boolean,
            pa.types.is_floating,
            pa.types.is_integer,
            pa.types.is_decimal,
            pa.types.is_null,
        )
    ):
        numeric = values.cast(pa.float64(), safe=False)
    else:
        index = first_given(values)
        raise piece.error(
            column, index, values[index].as_py(), f"is of the type {kind}, not a number", remedy
        )
    # A copy: Arrow's memory is read-only.
    plain = np.array(numeric.fill_null(np.nan) if numeric.null_count else numeric)
    too_large = np.abs(plain) > LARGEST
    if too_large.any():
        problem = "is not a finite number of reasonable size"
        piece.refuse(column, too_large, problem, remedy, plain.copy())
        plain[too_large] = np.nan
    return plain


def _numbers_of_texts(piece: Piece, column: str, values: Any, remedy: str) -> Any:
    """Read numbers by Arrow or, with thousands or a currency, one by one."""
    if piece.units.decimal != ",":  # Arrow would read 1.234 as a fraction
        for texts in (values, without_nothing(values)):
            with suppress(pa.ArrowInvalid):
                found = texts.cast(pa.float64())
                if found.null_count < len(found):
                    index = first_given(found)
                    piece.note_unit(column, "", values, index)
                return found
    encoded = without_nothing(values).dictionary_encode()
    indices = np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1))
    different: list[str] = encoded.dictionary.to_pylist()
    read: list[float] = []
    bad: dict[str, list[int]] = defaultdict(list)  # places of different texts, by problem
    units: set[str] = set()
    for place, text in enumerate(different):
        try:
            found = _quantity(text, piece.units.decimal)
        except FieldError as error:
            bad[error.problem].append(place)
            read.append(np.nan)
        else:
            read.append(found.value)
            if found.unit not in units:
                units.add(found.unit)
                piece.note_unit(column, found.unit, values, int((indices == place).argmax()))

    def shown(index: int) -> str:
        return different[int(indices[index])]

    for problem, places in bad.items():
        advice = f'{remedy}, or give decimal = ","' if "decimal" in problem else remedy
        piece.refuse(column, np.isin(indices, places), problem, advice, shown)
    return pa.array(np.array([*read, np.nan])[indices])


def _quantity(text: str, decimal: str | None) -> Quantity:
    if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):  # which Arrow reads, too
        return Quantity(float(text))
    return quantity(text, decimal=decimal)


def complete(piece: Piece, column: str, remedy: str) -> FloatArray:
    """As `numbers`, but no field may be empty."""
    values = numbers(piece, column, remedy)
    piece.refuse(column, np.isnan(values), "is missing", remedy)
    return values


def flags(piece: Piece, column: str) -> BoolArray:
    """Return a column of 0 and 1, or of words such as yes and no."""
    remedy = "give 0 or 1 for every client"
    plain = truths(piece, column, remedy)
    missing = np.isnan(plain)
    wrong = (plain != 0.0) & (plain != 1.0) & ~missing
    if missing.any() and not (wrong.any() and wrong.argmax() < missing.argmax()):
        piece.refuse(column, missing, "is missing", remedy)
    piece.refuse(column, wrong, "is neither 0 nor 1", remedy, plain)
    return plain == 1.0


def truths(piece: Piece, column: str, remedy: str = "give 0 or 1") -> FloatArray:
    """Return a column of numbers, or of words such as yes and no, NaN where missing."""
    values = decoded(piece.column(column))
    if is_text(values.type):
        encoded = values.dictionary_encode()
        words = [
            YES_AND_NO.get((text or "").strip().lower()) for text in encoded.dictionary.to_pylist()
        ]
        if None not in words:
            values = pa.array(words, pa.float64()).take(encoded.indices)
    return numbers_of(piece, column, values, remedy)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is the plain one of texts."""
    return pa.types.is_string(kind)


def first_given(values: Any) -> int:
    """Return the place of the first value that is not missing; 0 if all are."""
    return int(np.asarray(values.is_valid()).argmax())


def without_nothing(texts: Any) -> Any:
    """Texts without spaces around them; null where they say that a value is missing."""
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, pa.array(NOTHING, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def decoded(values: Any) -> Any:
    """Values that are not encoded by a dictionary."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


# -------------------------------------------------------------------------------- times


class TimeValues(NamedTuple):
    """Different values of a column of times, and the rows of a piece that have them."""

    piece: Piece
    values: Any
    indices: Any  # into the values, by row; None if the values are those of the rows

    @property
    def places(self) -> IntArray:
        """The place of each row's value, -1 if it is missing."""
        if self.indices is None:
            return np.arange(len(self.values))
        return np.asarray(self.indices.fill_null(-1))

    def row(self, index: int) -> int:
        """Return the first row that has a value."""
        return index if self.indices is None else int((self.places == index).argmax())

    def shown(self, row: int) -> object:
        """Return the value of a row as errors show it."""
        value = self.values[int(self.places[row])].as_py()
        return str(value) if isinstance(value, date) else value


@dataclass
class Dates:
    """Reads one time from each row, all of one kind."""

    columns: tuple[str, ...]
    date_format: str | None = None
    kind: str | None = None  # set by the first time that is read
    example: str = ""  # that time, and its row

    @property
    def name(self) -> str:
        """The columns, as errors name them."""
        return " ".join(self.columns)

    def read(self, piece: Piece) -> IntArray:
        """Return the times of the rows, `MISSING` where a field is empty."""
        fields = self._fields(piece)
        if not pa.types.is_dictionary(fields.type):
            return self._times(TimeValues(piece, fields, None))
        indices = fields.indices.cast(pa.int64())
        read = self._times(TimeValues(piece, fields.dictionary, indices))
        return np.append(read, MISSING)[np.asarray(indices.fill_null(read.size))]

    def _fields(self, piece: Piece) -> Any:
        """One field for each row; texts are encoded, because dates repeat."""
        columns = [piece.column(name) for name in self.columns]
        if len(columns) > 1:
            texts = (each.cast(pa.string()) for each in columns)
            return pc.binary_join_element_wise(*texts, " ").dictionary_encode()
        values = columns[0]
        kind = values.type
        if self.date_format and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            numbers = pa.array(self._whole(TimeValues(piece, values, None)))
            missing = pc.equal(numbers, MISSING)
            values = pc.if_else(missing, pa.scalar(None, pa.int64()), numbers).cast(pa.string())
        return values.dictionary_encode() if is_text(values.type) else values

    def _times(self, given: TimeValues) -> IntArray:
        values = given.values
        kind = values.type
        if is_text(kind):
            return self._times_of_texts(given)
        if pa.types.is_null(kind):
            return np.full(len(values), MISSING)
        if pa.types.is_timestamp(kind):
            self._note_kind(given, ZONED if kind.tz else TIMESTAMP, first_given(values))
            return _plain(values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()))
        if pa.types.is_date(kind):
            self._note_kind(given, DATE, first_given(values))
            return _plain(values.cast(pa.timestamp("us")).cast(pa.int64()))
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            read = self._whole(given)
            self._note_kind(given, NUMBER, int((read != MISSING).argmax()))
            return read
        raise self._error(
            given, first_given(values), f"is of the type {kind}, not a time", FORMAT_REMEDY
        )

    def _whole(self, given: TimeValues) -> IntArray:
        """Whole numbers; NaN is missing, and InputError for a fraction."""
        if not pa.types.is_floating(given.values.type):
            return _plain(given.values.cast(pa.int64(), safe=False))
        plain = np.asarray(given.values.cast(pa.float64()).fill_null(np.nan))
        missing = np.isnan(plain)
        broken = ~missing & ((plain != np.floor(plain)) | (np.abs(plain) > MOST))
        self._refuse(given, broken, "is not a whole number", FORMAT_REMEDY)
        missing |= broken
        return np.where(missing, MISSING, np.nan_to_num(plain).astype(np.int64))

    # ---------------------------------------------------------------------------- texts

    def _times_of_texts(self, given: TimeValues) -> IntArray:
        values = without_nothing(given.values)
        given = given._replace(values=values)
        if values.null_count == len(values):
            return np.full(len(values), MISSING)
        if self.date_format:
            return self._formatted(given, self.date_format)
        if self.kind is None and not self._note_first(given, values.to_pylist()):
            return np.full(len(values), MISSING)
        kind = str(self.kind)
        fits = np.asarray(pc.match_substring_regex(values, PATTERNS[kind]).fill_null(True))
        if not fits.all():
            self._refuse_others(given, fits)
        try:
            return _plain(_cast(self._where(given, fits), kind))
        except pa.ArrowInvalid:  # it looks like a date and is none, as 2026-02-30
            wrong = np.array(
                [not (_is(value, kind) or not fit) for value, fit in zip(values, fits)]
            )
            self._refuse(given, wrong, f"is not a valid {kind}", "correct it")
            return _plain(_cast(self._where(given, fits & ~wrong), kind))

    def _where(self, given: TimeValues, fits: BoolArray) -> Any:
        """Values that fit; others are missing."""
        if fits.all():
            return given.values
        return pc.if_else(pa.array(fits), given.values, pa.scalar(None, given.values.type))

    def _note_first(self, given: TimeValues, texts: Sequence[str | None]) -> bool:
        """Note the kind of the first time; without one, all values are bad."""
        for index, text in enumerate(texts):
            kind = None if text is None else _kind_of(text)
            if kind is not None:
                self._note_kind(given, kind, index)
                return True
            if text is not None and given.piece.marks is None:
                break
        there = np.array([text is not None for text in texts])
        remedy = _advice([text for text in texts if text is not None]) or FORMAT_REMEDY
        self._refuse(given, there, f"is not a time such as {EXAMPLES}", remedy)
        return False

    def _refuse_others(self, given: TimeValues, fits: BoolArray) -> None:
        """Refuse values that are not of the kind of the first time."""
        by_kind: dict[str | None, BoolArray] = {}
        for index in np.flatnonzero(~fits).tolist():
            kind = _kind_of(str(given.values[index].as_py()))
            by_kind.setdefault(kind, np.zeros(fits.size, bool))[index] = True
        for kind, wrong in by_kind.items():
            like = f"{self.kind} ({self.example})"
            if kind is None:
                problem = f"is not a {self.kind} like the others ({self.example})"
                self._refuse(given, wrong, problem, FORMAT_REMEDY)
            else:
                problem = f"is a {kind}, but others are of the kind {like}"
                self._refuse(given, wrong, problem, "write all times of a column the same way")

    def _formatted(self, given: TimeValues, pattern: str) -> IntArray:
        """Return times in the user's own format."""
        read = np.full(len(given.values), MISSING)
        wrong, problem = np.zeros(read.size, bool), ""
        for index, text in enumerate(given.values.to_pylist()):
            try:
                read[index] = MISSING if text is None else _microseconds(text, pattern)
            except FieldError as error:
                wrong[index], problem = True, error.problem
        remedy = "correct it, or give the date_format of the column"
        self._refuse(given, wrong, problem, remedy)
        if self.kind is None:
            parts = set(re.findall("%-?([a-zA-Z])", pattern))
            has_clock, has_day = parts & set("HIMSfXc"), parts & set("djaAuwUVxD")
            kind = TIMESTAMP if has_clock else DATE if has_day else MONTH
            self._note_kind(given, kind, int((read != MISSING).argmax()))
        return read

    # --------------------------------------------------------------------------- errors

    def _note_kind(self, given: TimeValues, kind: str, index: int) -> None:
        """Note the kind of the first time; InputError if a later one is of another."""
        if self.kind is None:
            if len(given.values) and given.values[index].as_py() is not None:
                row = given.piece.row(given.row(index))
                self.kind, self.example = kind, f"{given.values[index].as_py()} in row {row}"
        elif kind != self.kind:
            raise self._error(
                given,
                index,
                f"is a {kind}, but others are of the kind {self.kind} ({self.example})",
                "write all times of a column the same way",
            )

    def _refuse(self, given: TimeValues, wrong: BoolArray, problem: str, remedy: str) -> None:
        """Refuse the rows that have a wrong value."""
        if wrong.any():
            rows = np.append(wrong, False)[given.places]
            given.piece.refuse(self.name, rows, problem, remedy, given.shown)

    def _error(self, given: TimeValues, index: int, problem: str, remedy: str) -> InputError:
        row = given.row(index)
        return given.piece.error(self.name, row, given.shown(row), problem, remedy)


def _advice(texts: Sequence[str]) -> str:
    """Advise the usual formats in which the first texts are written, if any."""

    def fits(pattern: str) -> bool:
        try:
            for text in texts[:TEXTS_TRIED]:
                _microseconds(text, pattern)
        except FieldError:
            return False
        return True

    found = [f'"{pattern}"' for pattern in USUAL_FORMATS if fits(pattern)]
    return f"give their format: date_format = {' or '.join(found)}" if found else ""


def _kind_of(text: str) -> str | None:
    return next((kind for kind, pattern in PATTERNS.items() if re.match(pattern, text)), None)


def _plain(values: Any) -> IntArray:
    return np.asarray(values.fill_null(MISSING) if values.null_count else values)


@lru_cache(1 << 16)
def _microseconds(text: str, pattern: str) -> int:
    """Read a time in the user's own format; dates repeat from piece to piece."""
    time = parse_moment(text, pattern)
    plain = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    return round((plain - EPOCH) / timedelta(microseconds=1))


def _cast(texts: Any, kind: str) -> Any:
    """Texts of one kind as whole numbers."""
    if kind == NUMBER:
        return texts.cast(pa.int64())
    if kind == MONTH:
        texts = pc.binary_join_element_wise(texts, "01", "-")
    if kind in (TIMESTAMP, ZONED):
        texts = pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1")
    return texts.cast(pa.timestamp("us", "UTC" if kind == ZONED else None)).cast(pa.int64())


def _is(text: Any, kind: str) -> bool:
    try:
        _cast(pa.array([text.as_py()], pa.string()), kind)
    except pa.ArrowInvalid:
        return False
    return True
