"""Column profile: what a column of a sample holds, whatever its name.

>>> from profitable.past.column_sample import sampled
>>> from profitable.past.source import open_source
>>> table = {"issued": ["28-Feb-97", "01-Mar-97"], "lent": ["$1,200.50", "$900.00"]}
>>> piece = sampled(open_source(table), list(table)).piece
>>> for name in table:
...     found = profile(piece, name)
...     print(found.name, found.type, found.values, sep=" | ")
issued | date, %d-%b-%y | 1997-02-28 to 1997-03-01
lent | money | 900 to 1 200
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from profitable.common.text_tables import money_text, number_text, percent_text
from profitable.common.types import FloatArray, IntArray
from profitable.errors import InputError
from profitable.intake import quantities
from profitable.intake.fields import FieldError
from profitable.past import calendar_rounds as rounds
from profitable.past.calendar_rounds import MISSING
from profitable.past.date_formats import guess_format, is_written_as, moment_text
from profitable.past.source import Piece, pa
from profitable.past.typed_columns import (
    YES_AND_NO,
    Dates,
    decoded,
    is_text,
    numbers_of,
    without_nothing,
)

LEAST_READ = 0.98  # of the rows of a column; the others are bad rows
FREQUENT = 3  # values that are shown
LONGEST_WORD = 18  # letters of one
LONGEST_WORDS = 42  # letters of those that are shown
YEAR_NUMBERS = (1900, 2100)  # whole numbers between them are written without gaps


class Kind(StrEnum):
    """What kind of values a column holds."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    MONEY = "money"
    PERCENT = "percent"
    DATE = "date"
    YES_NO = "yes or no"
    EMPTY = "empty"
    OTHER = "other"


NUMERIC_KINDS = (Kind.WHOLE, Kind.NUMBER, Kind.MONEY, Kind.PERCENT)


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What a column holds, as far as a sample says it."""

    name: str
    kind: Kind
    missing: float  # the share of rows without a value
    different: int  # values in the sample
    codes: IntArray = field(repr=False)  # of the values [n], from the most frequent one; 0: missing
    words: tuple[str, ...] = field(repr=False)  # the most frequent values
    shares: tuple[float, ...] = field(repr=False)  # of these among the rows
    numbers: FloatArray | None = field(default=None, repr=False)  # [n], NaN where missing
    times: IntArray | None = field(default=None, repr=False)  # [n], microseconds
    time_kind: str | None = None  # how exact they are
    date_format: str | None = None  # None if dates are written as 2026-01-31
    other_format: str | None = None  # in which they could be read, too
    unread: int = 0  # sampled rows that are not of this kind
    example: str = ""  # the first of them
    decimal: str | None = None  # the sign without which its numbers could mean two things

    @property
    def type(self) -> str:
        """The type in words, with the format of dates."""
        if self.kind == Kind.DATE and self.date_format is not None:
            return f"{Kind.DATE}, {self.date_format}"
        if self.kind == Kind.DATE and self.time_kind not in (None, rounds.DATE):
            return "month" if self.time_kind == rounds.MONTH else "timestamp"
        return self.kind

    @cached_property
    def values(self) -> str:
        """The range of the values, or the most frequent ones."""
        if self.kind == Kind.DATE and self.times is not None:
            given = self.times[self.times != MISSING]
            has_day = self.time_kind != rounds.MONTH
            ends = [moment_text(int(each), has_day=has_day) for each in (given.min(), given.max())]
            return " to ".join(ends)
        if self.kind in NUMERIC_KINDS and self.numbers is not None:
            if self.kind == Kind.PERCENT:
                return " to ".join(f"{100.0 * each:.4g} %" for each in self.ends)
            is_year = (
                self.kind == Kind.WHOLE
                and YEAR_NUMBERS[0] <= self.ends[0] <= self.ends[1] <= YEAR_NUMBERS[1]
            )
            ends = [f"{each:.0f}" if is_year else _number(each) for each in self.ends]
            return " to ".join(ends)
        shown: list[str] = []
        for word, share in zip(self.words[:FREQUENT], self.shares, strict=False):
            one = f"{_short(word)} {percent_text(share)}"
            if len(", ".join([*shown, one])) <= LONGEST_WORDS:
                shown.append(one)
        return ", ".join(shown) + (", ..." if self.different > len(shown) else "")

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number."""
        assert self.numbers is not None
        return float(np.nanmin(self.numbers)), float(np.nanmax(self.numbers))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        is_range = self.kind in (Kind.DATE, *NUMERIC_KINDS)
        low, high = self.values.split(" to ") if self.kind == Kind.DATE else (None, None)
        if self.kind in NUMERIC_KINDS:
            low, high = self.ends
        return {
            "name": self.name,
            "type": self.kind,
            "date_format": self.date_format,
            "missing": self.missing,
            "different": self.different,
            "low": low,
            "high": high,
            "frequent": []
            if is_range
            else [
                {"value": word, "share": share}
                for word, share in zip(self.words[:FREQUENT], self.shares, strict=False)
            ],
            "unread": self.unread,
        }


def profile(piece: Piece, name: str) -> ColumnProfile:
    """Look at a column of a sample."""
    values = decoded(piece.column(name))
    base = _values(name, values)
    if base.kind == Kind.EMPTY:
        return base
    if not is_text(values.type):
        return _typed(piece, base, values)
    for reader in (_flags, _dated_numbers, _dates, _numbers):
        found = reader(piece, base, values)
        if found is not None:
            return found
    return base


def _values(name: str, values: Any) -> ColumnProfile:
    """Count the different values of a column."""
    try:
        texts = values if is_text(values.type) else values.cast(pa.string())
    except pa.ArrowException:  # lists and the like
        return ColumnProfile(name, Kind.OTHER, 0.0, 0, np.zeros(len(values), np.int64), (), ())
    encoded = without_nothing(texts).dictionary_encode()
    place = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    words = encoded.dictionary.to_pylist()
    counts = np.bincount(place[place >= 0], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(words) + 1, np.int64)
    rank[order], rank[-1] = np.arange(1, len(words) + 1), 0
    rows = max(len(values), 1)
    return ColumnProfile(
        name,
        Kind.TEXT if words else Kind.EMPTY,
        float((place < 0).mean()) if place.size else 1.0,
        len(words),
        rank[place],
        tuple(words[each] for each in order),
        tuple((counts[order] / rows).tolist()),
    )


def _with(base: ColumnProfile, kind: Kind, **more: Any) -> ColumnProfile:
    own = ("name", "missing", "different", "codes", "words", "shares")
    return ColumnProfile(**{name: getattr(base, name) for name in own}, kind=kind, **more)


def _typed(piece: Piece, base: ColumnProfile, values: Any) -> ColumnProfile:
    """Look at a column that has a type of its own."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return _with(base, Kind.YES_NO, numbers=numbers_of(piece, base.name, values, ""))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        dates = Dates((base.name,))
        return _with(base, Kind.DATE, times=dates.read(piece), time_kind=dates.kind)
    with suppress(InputError):
        plain = numbers_of(piece, base.name, values, "")
        return _dated_numbers(piece, base, values) or _of_numbers(base, plain)
    return base if base.kind == Kind.OTHER or base.different else _with(base, Kind.EMPTY)


# ------------------------------------------------------------------------- readers


def _flags(piece: Piece, base: ColumnProfile, values: Any) -> ColumnProfile | None:
    """Read two words such as yes and no."""
    found = [YES_AND_NO.get(word.lower()) for word in base.words[:3]]
    if sorted(found, key=str) != [0.0, 1.0]:
        return None
    return _with(base, Kind.YES_NO, numbers=np.array([np.nan, *found])[base.codes])


def _dates(piece: Piece, base: ColumnProfile, values: Any) -> ColumnProfile | None:
    """Read texts as dates, written as 2026-01-31 or in another format."""
    with suppress(InputError):
        dates = Dates((base.name,))
        times = dates.read(piece)
        if dates.kind == rounds.NUMBER:
            return None
        return _with(base, Kind.DATE, times=times, time_kind=dates.kind)
    found = guess_format(base.words)
    if found is None:
        return None
    return _formatted(piece, base, *found)


def _formatted(
    piece: Piece, base: ColumnProfile, pattern: str, other: str | None = None
) -> ColumnProfile | None:
    """Read the different texts in a format; texts that are no dates are counted."""
    bad = [place for place, word in enumerate(base.words) if not is_written_as(word, pattern)]
    if len(bad) > max((1.0 - LEAST_READ) * len(base.words), 1):
        return None
    words = list[str | None](base.words)
    for place in bad:
        words[place] = None
    dates = Dates(("text",), pattern)
    batch = pa.RecordBatch.from_arrays([pa.array(words, pa.string())], names=["text"])
    read = dates.read(Piece(batch, piece.place, 1))
    times = np.append(MISSING, read)[base.codes]
    unread = int(np.isin(base.codes, np.array(bad, np.int64) + 1).sum())
    if unread > (1.0 - LEAST_READ) * base.codes.size:
        return None
    return _with(
        base,
        Kind.DATE,
        times=times,
        time_kind=dates.kind,
        date_format=pattern,
        other_format=other,
        unread=unread,
        example=base.words[bad[0]] if bad else "",
    )


def _numbers(piece: Piece, base: ColumnProfile, values: Any) -> ColumnProfile | None:
    """Read texts as numbers, perhaps with a currency, a sign of per cent or months."""
    with suppress(pa.ArrowInvalid, InputError):
        plain = without_nothing(values).cast(pa.float64())
        return _of_numbers(base, numbers_of(piece, base.name, plain, ""))
    for decimal in (None, ".", ","):
        read = [_quantity(word, decimal) for word in base.words]
        unread = np.array([False, *(each is None for each in read)])
        number = int(unread[base.codes].sum())
        if number <= (1.0 - LEAST_READ) * base.codes.size:
            break
    else:
        return None
    plain = np.array([np.nan, *(np.nan if each is None else each.value for each in read)])
    found = _of_numbers(base, plain[base.codes])
    units = Counter(each.unit for each in read if each is not None)
    unit = units.most_common(1)[0][0]
    kinds = {"": found.kind, quantities.IN_MONTHS: found.kind, quantities.PERCENT: Kind.PERCENT}
    return _with(
        base,
        kinds.get(unit, Kind.MONEY),
        numbers=found.numbers,
        unread=number,
        example=base.words[int(unread.argmax()) - 1] if number else "",
        decimal=decimal,
    )


def _quantity(text: str, decimal: str | None) -> quantities.Quantity | None:
    with suppress(FieldError):
        return quantities.quantity(text, decimal=decimal)
    return None


def _of_numbers(base: ColumnProfile, plain: FloatArray) -> ColumnProfile:
    given = plain[~np.isnan(plain)]
    if not given.size:
        return _with(base, Kind.EMPTY)
    if base.different == 2 and set(np.unique(given).tolist()) == {0.0, 1.0}:
        return _with(base, Kind.YES_NO, numbers=plain)
    is_whole = bool((given == np.floor(given)).all())
    return _with(base, Kind.WHOLE if is_whole else Kind.NUMBER, numbers=plain)


def _dated_numbers(piece: Piece, base: ColumnProfile, values: Any) -> ColumnProfile | None:
    """Read whole numbers such as 20260131 as dates."""
    with suppress(InputError):
        dates = Dates((base.name,))
        read = dates.read(piece)
        pattern = rounds.written_as(read) if dates.kind == rounds.NUMBER else None
        if pattern is not None and base.different > 1:
            return _formatted(piece, base, pattern)
    return None


def _number(value: float) -> str:
    return money_text(value) if abs(value) >= 1_000 else number_text(value)


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 3]}..."
