"""Rounds of the calendar: the periods that times lie in, as expressions and by number.

A round is a period: a day, a week (from Monday), a month, a quarter, or a whole number.
Periods are numbers that grow by 1.  Expressions compute them from years, months and
days, by arithmetic that every engine has; arrays of times use the same expressions.

>>> times = np.array(["2026-01-31", "2026-03-01"], "datetime64[us]").astype(np.int64)
>>> [label(month, "month") for month in periods(times, "month").tolist()]
['2026-01', '2026-03']
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np

from profitable.common.types import BoolArray, IntArray
from profitable.errors import InputError
from profitable.past.layout import CALENDAR
from profitable.past.past import NEVER_KNOWN, SmallInts
from profitable.past.source import pa

MISSING = int(np.iinfo(np.int64).min)  # NumPy's own "not a time"
NUMBER, MONTH, DATE, TIMESTAMP, ZONED = (
    "whole number",
    "month",
    "date",
    "timestamp",
    "timestamp with a time zone",
)
# What people and programs write for a missing value.  In a category these are names
# like others: NA may be Namibia.
NOTHING = (
    *("", "NA", "N/A", "#N/A", "n/a", "na", "NaN", "nan", "-nan"),
    *("NULL", "null", "None", "none", "NaT", "-", "."),
)
DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|[12]\d))"
)
TIME_PATTERNS = {
    MONTH: r"^\d{4}-(?:0[1-9]|1[0-2])$",
    DATE: rf"^\d{{4}}-{DAY}$",
    TIMESTAMP: rf"^\d{{4}}-{DAY}[ T]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?$",
}
EXAMPLES = "2026-01-31, 2026-01, 2026-01-31 12:00"
# Added before weeks are counted, because engines do not agree on how negative numbers
# are divided.
WEEKS = 10**6
UTC_NAMES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
MICROSECONDS = 86_400_000_000  # of a day
DAYS_AT_ONCE = 1 << 12  # days whose periods are computed together
MOST_DAYS = 1 << 22  # of a table of periods


# -------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class TimeColumn:
    """A column of times in a dataframe: its kind, and expressions of it."""

    column: str
    kind: str
    is_text: bool = False
    is_float: bool = False

    @classmethod
    def of(cls, frame: Any, column: str, schema: Any) -> "TimeColumn":
        """Look at a column; InputError if an engine cannot make rounds of it."""
        kind = schema[column]
        if kind == nw.Date:
            return cls(column, DATE)
        if kind == nw.Datetime:
            zone = getattr(kind, "time_zone", None)
            if zone is not None and zone not in UTC_NAMES:
                raise InputError(
                    "time",
                    column,
                    f"is a timestamp in the time zone {zone}, whose days engines count apart",
                    "give it in UTC, or as a date",
                )
            return cls(column, TIMESTAMP if zone is None else ZONED)
        if kind.is_integer() or kind.is_float():
            return cls(column, NUMBER, is_float=kind.is_float())
        if kind in (nw.String, nw.Categorical):
            return cls(column, _kind_of_texts(frame, column), is_text=True)
        raise InputError(
            "time",
            column,
            f"is of the type {kind}, not a time",
            "cast it to a date or a timestamp in your engine",
        )

    def _missing(self) -> Any:
        found = nw.col(self.column).is_null()
        if self.is_float:
            return found | nw.col(self.column).is_nan()
        if self.is_text:
            text = nw.col(self.column).cast(nw.String).str.strip_chars()
            return found | text.is_in(NOTHING).fill_null(False)
        return found

    def put(self, frame: Any, name: str, round: str) -> Any:
        """Return the frame with the period in the column `name`, and its parts.

        Each step is a projection of its own: engines copy an expression wherever it is
        used, and copies of copies grow out of all bounds.
        """
        gone = nw.col(f"{name}_gone")
        frame = _with_parts(frame, name, gone=self._missing())
        if self.kind == NUMBER:
            zero = nw.lit(0.0 if self.is_float else 0)
            filled = nw.when(gone).then(zero).otherwise(nw.col(self.column))
            frame = _with_parts(frame, name, number=filled)
            number = nw.col(f"{name}_number")
            broken = number != number.floor() if self.is_float else nw.lit(False)
            return frame.with_columns(**{f"{name}_broken": broken, name: number.cast(nw.Int64)})
        frame = self._with_calendar(frame, name)
        year, month, days = (nw.col(f"{name}_{part}") for part in ("year", "month", "days"))
        period = {
            "month": nw.col(f"{name}_months"),
            "quarter": year * 4 + (month - 1) // 3 - 4 * 1970,
            "day": days,
            "week": (days + 3 + 7 * WEEKS) // 7 - WEEKS,  # 1970 began on a Thursday
        }[round]
        return frame.with_columns(**{f"{name}_broken": nw.lit(False), name: period})

    def _with_calendar(self, frame: Any, name: str) -> Any:
        """Add year, month and day, and months and days since 1970.

        If the time is missing, they are those of 1 January 1970.  Days are counted in
        years that begin in March.
        """
        if self.is_text:
            given = nw.col(self.column).cast(nw.String).str.strip_chars()
            filled = nw.when(nw.col(f"{name}_gone")).then(nw.lit("1970-01-01")).otherwise(given)
            frame = _with_parts(frame, name, text=filled)
            text = nw.col(f"{name}_text").str
            day = nw.lit(1) if self.kind == MONTH else text.slice(8, 2)
            parts = {"year": text.slice(0, 4), "month": text.slice(5, 2), "day": day}
        else:
            moment = nw.col(self.column).dt
            parts = {
                "year": moment.year().fill_null(1970),
                "month": moment.month().fill_null(1),
                "day": moment.day().fill_null(1),
            }
        frame = _with_parts(frame, name, **{part: parts[part].cast(nw.Int64) for part in parts})
        year, month, day = (nw.col(f"{name}_{part}") for part in parts)
        frame = _with_parts(
            frame,
            name,
            months=year * 12 + month - (12 * 1970 + 1),
            since=nw.when(month > 2).then(month - 3).otherwise(month + 9),
            march=nw.when(month > 2).then(year).otherwise(year - 1),
        )
        since, march = nw.col(f"{name}_since"), nw.col(f"{name}_march")
        leap_days = march // 4 - march // 100 + march // 400
        of_year = (since * 153 + 2) // 5 + day - 1
        return _with_parts(frame, name, days=march * 365 + leap_days + of_year - 719_468)

    def before(self, name: str, other: "TimeColumn", other_name: str) -> Any:
        """Whether it lies before another time, as far as the coarser kind can tell."""
        both = ~nw.col(f"{name}_gone") & ~nw.col(f"{other_name}_gone")
        unit = coarser_unit(self.kind, other.kind)
        if unit is None and not self.is_text and not other.is_text and self.kind != NUMBER:
            return both & (nw.col(self.column) < nw.col(other.column)).fill_null(False)
        part = "number" if self.kind == NUMBER else "months" if unit == "month" else "days"
        return both & (nw.col(f"{name}_{part}") < nw.col(f"{other_name}_{part}"))


def _with_parts(frame: Any, name: str, **parts: Any) -> Any:
    """Add columns whose names begin with that of a time."""
    return frame.with_columns(**{f"{name}_{part}": value for part, value in parts.items()})


def _kind_of_texts(frame: Any, column: str) -> str:
    """Return the kind of dates in a column of texts, found by a scan."""
    given = frame.filter(~nw.col(column).is_null()).select(
        text=nw.col(column).cast(nw.String).str.strip_chars()
    )
    given = given.filter(~nw.col("text").is_in(NOTHING))
    first = _first_text(given)
    if first is None:
        raise InputError("time", column, "has no time at all", "choose another column")
    remedy = "write dates as 2026-01-31, or cast the column to a date in your engine"
    for kind, pattern in TIME_PATTERNS.items():
        other = _first_text(given.filter(~nw.col("text").str.contains(pattern)))
        if other is None:
            return kind
        if other != first and re.match(pattern, first):
            raise InputError(
                f"time: {column}", other, f"is not a {kind} like the others ({first})", remedy
            )
    raise InputError(f"time: {column}", first, f"is not a time such as {EXAMPLES}", remedy)


def _first_text(frame: Any) -> str | None:
    found = frame.head(1).collect().to_arrow().column("text").to_pylist()
    return found[0] if found else None


# ------------------------------------------------------------------------------- arrays


def periods(times: IntArray, round: str) -> IntArray:
    """Return the periods of times in microseconds, or of numbers; `MISSING` stays."""
    if round == "number":
        return times
    missing = times == MISSING
    has_missing = missing.any()
    found = times // MICROSECONDS
    if has_missing:
        found[missing] = found.max()
    if round != "day" and found.size:
        found = _periods_of_days(found, round)
    if has_missing:
        found[missing] = MISSING
    return found


def _periods_of_days(days: IntArray, round: str) -> IntArray:
    """Return the periods of days, from a table of all days in their range."""
    first, last = int(days.min()), int(days.max())
    if last - first < MOST_DAYS:
        start = first // DAYS_AT_ONCE * DAYS_AT_ONCE
        return _table(start, -(-(last + 1 - start) // DAYS_AT_ONCE) * DAYS_AT_ONCE, round)[
            days - start
        ]
    unique, place = np.unique(days, return_inverse=True)
    return _periods(unique, round)[place]


@lru_cache(maxsize=16)
def _table(start: int, size: int, round: str) -> IntArray:
    """Return the periods of days that follow each other."""
    return _periods(np.arange(start, start + size), round)


def _periods(days: IntArray, round: str) -> IntArray:
    table = pa.table({"day": pa.array(days, pa.int32()).cast(pa.date32())})
    frame = nw.from_native(table, eager_only=True)
    return TimeColumn("day", DATE).put(frame, "period", round)["period"].to_numpy()


def before(known: IntArray, asked: IntArray, *kinds: str | None) -> BoolArray:
    """Where a time lies before another, as far as the coarser kind can tell."""
    given = (known != MISSING) & (asked != MISSING)
    unit = coarser_unit(*kinds)
    if unit is None:
        return given & (known < asked)
    return given & (periods(known, unit) < periods(asked, unit))


def coarser_unit(*kinds: str | None) -> str | None:
    """Return the unit in which times of these kinds are compared, None if exact."""
    if NUMBER in kinds:
        return None
    return "month" if MONTH in kinds else "day" if DATE in kinds else None


def usual_round(kind: str | None) -> str:
    """Return the round for times of a kind, unless another is given."""
    return "number" if kind == NUMBER else "month"


def label(period: int, round: str) -> str:
    """Return the name of a period.

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


def check_kind(field: str, shown: str, kind: str, round: str | int, asked: tuple[str, str]) -> None:
    """InputError if times do not fit the rounds, or those of asking (name and kind)."""
    for is_wrong, problem, remedy in (
        (
            (kind == NUMBER) != (asked[1] == NUMBER),
            f"is a {kind}, but {asked[0]} holds the kind {asked[1]}",
            "give both as dates, or both as whole numbers",
        ),
        (
            kind == NUMBER and round in CALENDAR,
            f"is a {kind}, and a round is a {round}",
            'give round = "number", a date_format such as "%Y%m%d", or a column of dates',
        ),
        (
            kind != NUMBER and round == "number",
            f"is a {kind}, not a whole number",
            'give round = "month", for example',
        ),
        (
            kind == MONTH and round in ("day", "week"),
            f"has no days, and a round is a {round}",
            'give round = "month"',
        ),
    ):
        if is_wrong:
            raise InputError(field, shown, problem, remedy)


def written_as(numbers: IntArray) -> str | None:
    """Return the format of dates written as numbers: 20260131 or 202601."""
    given = numbers[numbers != MISSING]
    for pattern, power in (("%Y%m%d", 10_000), ("%Y%m", 100)):
        years, months = given // power, given // (power // 100) % 100
        plausible = (years >= 1900) & (years < 2100) & (months >= 1) & (months <= 12)
        if given.size and plausible.all():
            return pattern
    return None


def rounds_of_rows(
    asked: IntArray | None, known: IntArray | None, rows: int, size: int
) -> tuple[SmallInts, SmallInts]:
    """Return the rounds of asking and of knowing, if a round is `size` rows.

    An outcome is known in the last round whose first client asked by then: after the
    decision of that round.

    >>> asked, known = np.array([10, 30, 20, 40]), np.array([35, 90, MISSING, 40])
    >>> [each.tolist() for each in rounds_of_rows(asked, known, 4, 2)]
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
