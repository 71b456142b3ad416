"""Dates: columns of time, and the rounds that they are cut into.

A time is kept as a whole number: microseconds since 1970, or the number itself if the column holds whole numbers.
A round is a period: a day, a week (from Monday), a month, a quarter, or one whole number.

>>> from profitable.replay.source import open_source
>>> piece = next(open_source({"when": ["2026-01", "2026-03", None]}).pieces(["when"]))
>>> dates = Dates(("when",))
>>> months = periods(dates.read(piece), "month")
>>> [label(month, "month") for month in months[:2].tolist()], bool(months[2] == MISSING)
(['2026-01', '2026-03'], True)
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from profitable.common.check import MOST
from profitable.common.types import BoolArray, IntArray
from profitable.errors import InputError
from profitable.replay.columns import NOTHING, first_given, is_text
from profitable.replay.crowd import NEVER_KNOWN, SmallInts
from profitable.replay.source import Piece, pyarrow

MISSING = int(np.iinfo(np.int64).min)  # NumPy's own "not a time"
EPOCH = datetime(1970, 1, 1)
NUMBER, MONTH, DATE, TIMESTAMP, ZONED = "whole number", "month", "date", "timestamp", "timestamp with a time zone"
PATTERNS = {
    NUMBER: r"^[+-]?\d{1,18}$",
    MONTH: r"^\d{4}-\d{2}$",
    DATE: r"^\d{4}-\d{2}-\d{2}$",
    TIMESTAMP: r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$",
    ZONED: r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$",
}
EXAMPLES = "2026-01-31, 2026-01, 2026-01-31 12:00"
FORMAT_REMEDY = 'write dates as 2026-01-31, or say how they are written: date_format = "%d.%m.%Y"'
WITHIN_MONTHS = ("day", "week")  # rounds that are shorter than a month


@dataclass
class Dates:
    """Reads one time from each row, all of one kind."""

    columns: tuple[str, ...]
    date_format: str | None = None
    kind: str | None = None  # set by the first time that is read
    example: str = ""  # that time, and where it stands
    texts: dict[str, int] = field(default_factory=lambda: {})  # dates in a format of the user's own

    @property
    def name(self) -> str:
        """The columns, as errors name them."""
        return " ".join(self.columns)

    def read(self, piece: Piece) -> IntArray:
        """The times of the rows, `MISSING` where a cell is empty."""
        pa = pyarrow()
        values = self._cells(piece)
        if pa.types.is_dictionary(values.type):
            read = self._read(piece, values.dictionary, values)
            indices = np.asarray(values.indices.cast(pa.int64()).fill_null(read.size))
            return np.append(read, MISSING)[indices]
        return self._read(piece, values, None)

    def _cells(self, piece: Piece) -> Any:
        """One cell for each row; texts are encoded, because dates repeat."""
        pa = pyarrow()
        pc = pyarrow("compute")
        columns = [piece.column(name) for name in self.columns]
        if len(columns) > 1:
            texts = [each if is_text(each.type) else each.cast(pa.string()) for each in columns]
            return pc.binary_join_element_wise(*texts, " ").dictionary_encode()
        values = columns[0]
        if self.date_format and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            self._check_whole(piece, values, None)
            if pa.types.is_floating(values.type):
                values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
            values = values.cast(pa.int64(), safe=False).cast(pa.string())
        return values.dictionary_encode() if is_text(values.type) else values

    def _read(self, piece: Piece, values: Any, rows: Any) -> IntArray:
        """The times of some values; `rows` are the cells that refer to them, if they are not the cells themselves."""
        pa = pyarrow()
        kind = values.type
        if is_text(kind):
            return self._read_texts(piece, values, rows)
        if pa.types.is_null(kind):
            return np.full(len(values), MISSING)
        if pa.types.is_timestamp(kind):
            self._same(piece, values, rows, ZONED if kind.tz else TIMESTAMP, first_given(values))
            return _plain(values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()))
        if pa.types.is_date(kind):
            self._same(piece, values, rows, DATE, first_given(values))
            return _plain(values.cast(pa.timestamp("us")).cast(pa.int64()))
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return self._read_numbers(piece, values, rows)
        index = first_given(values)
        raise self._error(piece, values, rows, index, f"is of the type {kind}, not a time", FORMAT_REMEDY)

    def _read_numbers(self, piece: Piece, values: Any, rows: Any) -> IntArray:
        pa = pyarrow()
        self._check_whole(piece, values, rows)
        if pa.types.is_floating(values.type):
            plain = np.asarray(values.cast(pa.float64()).fill_null(np.nan))
            read = np.where(np.isnan(plain), MISSING, np.nan_to_num(plain).astype(np.int64))
        else:
            read = _plain(values.cast(pa.int64(), safe=False))
        self._same(piece, values, rows, NUMBER, int((read != MISSING).argmax()))
        return read

    def _check_whole(self, piece: Piece, values: Any, rows: Any) -> None:
        """InputError if a number is not whole; NaN is missing."""
        pa = pyarrow()
        if pa.types.is_floating(values.type):
            plain = np.asarray(values.cast(pa.float64()).fill_null(np.nan))
            broken = ~np.isnan(plain) & ((plain != np.floor(plain)) | (np.abs(plain) > MOST))
            if broken.any():
                raise self._error(piece, values, rows, int(broken.argmax()), "is not a whole number", FORMAT_REMEDY)

    # -------------------------------------------------------------------------------------------- texts

    def _read_texts(self, piece: Piece, values: Any, rows: Any) -> IntArray:
        pa = pyarrow()
        pc = pyarrow("compute")
        values = pc.utf8_trim_whitespace(values)
        given = pc.if_else(pc.is_in(values, pa.array(NOTHING, values.type)), pa.scalar(None, values.type), values)
        if given.null_count == len(given):
            return np.full(len(given), MISSING)
        if self.date_format:
            return self._formatted(piece, given, rows)
        if self.kind is None:
            index = first_given(given)
            self._same(piece, given, rows, self._kind_of(piece, given, rows, index), index)
        fits = np.asarray(pc.match_substring_regex(given, PATTERNS[self.kind or DATE]).fill_null(True))
        if not fits.all():
            index = int(fits.argmin())
            self._same(piece, given, rows, self._kind_of(piece, given, rows, index), index)
        try:
            return _plain(_cast(given, self.kind or DATE))
        except pa.ArrowInvalid:  # it looks like a date and is none, as 2026-02-30
            for index, text in enumerate(given.to_pylist()):
                try:
                    if text is not None:
                        _cast(pa.array([text]), self.kind or DATE)
                except pa.ArrowInvalid:
                    raise self._error(piece, given, rows, index, f"is no {self.kind}", "correct it") from None
            raise

    def _kind_of(self, piece: Piece, values: Any, rows: Any, index: int) -> str:
        text = str(values[index].as_py())
        for kind, pattern in PATTERNS.items():
            if re.match(pattern, text):
                return kind
        problem = f"is not a time such as {EXAMPLES}"
        if self.kind:
            problem = f"is not a {self.kind} like the others ({self.example})"
        raise self._error(piece, values, rows, index, problem, FORMAT_REMEDY)

    def _formatted(self, piece: Piece, given: Any, rows: Any) -> IntArray:
        """Times in the user's own format."""
        pattern = self.date_format or ""
        read = np.full(len(given), MISSING)
        for index, text in enumerate(given.to_pylist()):
            if text is None:
                continue
            if text not in self.texts:
                try:
                    moment = datetime.strptime(text, pattern)
                except ValueError:
                    problem = f"is not written as {pattern}"
                    remedy = "correct it, or give the date_format of the column"
                    raise self._error(piece, given, rows, index, problem, remedy) from None
                if moment.tzinfo:
                    moment = moment.astimezone(UTC).replace(tzinfo=None)
                self.texts[text] = round((moment - EPOCH) / timedelta(microseconds=1))
            read[index] = self.texts[text]
        if self.kind is None:
            parts = set(re.findall("%-?([a-zA-Z])", pattern))
            exact = TIMESTAMP if parts & set("HIMSfXc") else DATE if parts & set("djaAuwUVx") else MONTH
            self._same(piece, given, rows, exact, first_given(given))
        return read

    # -------------------------------------------------------------------------------------------- errors

    def _same(self, piece: Piece, values: Any, rows: Any, kind: str, index: int) -> None:
        """Note the kind of a column with its first time; InputError if a later one is of another kind."""
        if self.kind is None:
            if len(values) and values[index].as_py() is not None:
                self.kind = kind
                row = piece.first + _row(rows, index)
                self.example = f"{values[index].as_py()} in row {row}"
        elif kind != self.kind:
            problem = f"is a {kind}, but others are of the kind {self.kind} ({self.example})"
            raise self._error(piece, values, rows, index, problem, "write all times of the column in the same way")

    def _error(self, piece: Piece, values: Any, rows: Any, index: int, problem: str, remedy: str) -> InputError:
        value = values[index].as_py()
        shown = str(value) if isinstance(value, date) else value
        return piece.error(self.name, _row(rows, index), shown, problem, remedy)


def _row(rows: Any, index: int) -> int:
    """The first row that has a value, by the place of the value."""
    return (
        index
        if rows is None
        else int((np.asarray(rows.indices.cast(pyarrow().int64()).fill_null(-1)) == index).argmax())
    )


def _plain(values: Any) -> IntArray:
    return np.asarray(values.fill_null(MISSING) if values.null_count else values)


def _cast(texts: Any, kind: str) -> Any:
    """Texts of one kind as whole numbers."""
    pa = pyarrow()
    pc = pyarrow("compute")
    if kind == NUMBER:
        return texts.cast(pa.int64())
    if kind == MONTH:
        texts = pc.binary_join_element_wise(texts, "01", "-")
    if kind in (TIMESTAMP, ZONED):
        texts = pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1")
    return texts.cast(pa.timestamp("us", "UTC" if kind == ZONED else None)).cast(pa.int64())


# ------------------------------------------------------------------------------------------------ rounds


def periods(times: IntArray, round: str) -> IntArray:
    """The periods that times lie in, as numbers that grow by 1 from one period to the next; `MISSING` stays."""
    if round == "number":
        return times
    unit = "D" if round in WITHIN_MONTHS else "M"
    found = times.view("datetime64[us]").astype(f"datetime64[{unit}]").astype(np.int64)
    if round == "week":
        found = (found + 3) // 7  # the first of January 1970 was a Thursday
    elif round == "quarter":
        found = found // 3
    if round in ("week", "quarter"):
        found[times == MISSING] = MISSING
    return found


def label(period: int, round: str) -> str:
    """The name of a period.

    >>> label(2935, "week"), label(224, "quarter"), label(7, "number")
    ('2026-W14', '2026-Q1', '7')
    """
    if round == "day":
        return str(np.datetime64(period, "D"))
    if round == "week":
        return date.fromordinal(date(1970, 1, 1).toordinal() + period * 7 - 3).strftime("%G-W%V")
    if round == "month":
        return str(np.datetime64(period, "M"))
    return f"{1970 + period // 4}-Q{period % 4 + 1}" if round == "quarter" else str(period)


def before(known: IntArray, asked: IntArray, *kinds: str | None) -> BoolArray:
    """Where an outcome was known before its client asked, as far as the coarser of the two kinds of times can tell."""
    given = (known != MISSING) & (asked != MISSING)
    if NUMBER in kinds:
        return given & (known < asked)
    unit = "M" if MONTH in kinds else "D" if DATE in kinds else "us"
    first, second = (each.view("datetime64[us]").astype(f"datetime64[{unit}]") for each in (known, asked))
    return given & (first < second)


def written_as(numbers: IntArray) -> str | None:
    """The format of dates that are written as whole numbers, such as 20260131 or 202601; None if they are not."""
    given = numbers[numbers != MISSING]
    for pattern, power in (("%Y%m%d", 10_000), ("%Y%m", 100)):
        months = given // (power // 100) % 100
        if given.size and ((given // power >= 1900) & (given // power < 2100) & (months >= 1) & (months <= 12)).all():
            return pattern
    return None


def rounds_of_rows(asked: IntArray | None, known: IntArray | None, rows: int, size: int) -> tuple[SmallInts, SmallInts]:
    """The rounds in which clients asked and outcomes were known, if a round is a number of rows in the order of time.

    An outcome is known in the last round whose first client asked by then: after the decision of that round.

    >>> [each.tolist() for each in rounds_of_rows(np.array([10, 30, 20, 40]), np.array([35, 90, MISSING, 40]), 4, 2)]
    [[1, 2, 1, 2], [2, 2, 2147483647, 2]]
    """
    round = (np.arange(rows, dtype=np.int64) // size + 1).astype(np.int32)
    if asked is None:
        return round, round
    order = np.argsort(asked, kind="stable")
    starts = asked[order[::size]]
    by_row = np.empty(rows, np.int32)
    by_row[order] = round
    if known is None:
        return by_row, by_row
    found = np.maximum(np.searchsorted(starts, known, side="right"), by_row).astype(np.int32)
    found[known == MISSING] = NEVER_KNOWN
    return by_row, found
