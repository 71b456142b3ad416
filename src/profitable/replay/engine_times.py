"""Times as an engine computes them: dates as numbers of periods, by arithmetic that every engine has.

The years, months and days of a column become the numbers that `dates.periods` gives for single rows.
"""

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from profitable.errors import InputError
from profitable.replay import dates
from profitable.replay.columns import NOTHING
from profitable.replay.layout import CALENDAR

DAY = r"((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|[12]\d))"
TEXTS = {
    dates.MONTH: r"^\d{4}-(0[1-9]|1[0-2])$",
    dates.DATE: rf"^\d{{4}}-{DAY}$",
    dates.TIMESTAMP: rf"^\d{{4}}-{DAY}[ T]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,9}})?)?$",
}
WEEKS = 10**6  # added before weeks are counted, because engines do not agree on how negative numbers are divided
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


@dataclass(frozen=True)
class EngineTime:
    """One column of times: its kind, as for single rows, and expressions of it."""

    column: str
    kind: str
    is_text: bool = False
    is_float: bool = False

    @classmethod
    def of(cls, frame: Any, column: str, schema: Any) -> "EngineTime":
        """Look at a column; InputError if an engine cannot make rounds of it."""
        kind, remedy = schema[column], "cast it to a date or a timestamp in your engine"
        if kind == nw.Date:
            return cls(column, dates.DATE)
        if kind == nw.Datetime:
            zone = getattr(kind, "time_zone", None)
            if zone is not None and zone not in UTC:
                problem = f"is a timestamp in the time zone {zone}, in which every engine counts days in its own way"
                raise InputError("time", column, problem, "give it in UTC, or as a date")
            return cls(column, dates.TIMESTAMP if zone is None else dates.ZONED)
        if kind.is_integer() or kind.is_float():
            return cls(column, dates.NUMBER, is_float=kind.is_float())
        if kind in (nw.String, nw.Categorical):
            return cls(column, _kind_of_texts(frame, column), is_text=True)
        raise InputError("time", column, f"is of the type {kind}, not a time", remedy)

    def missing(self) -> Any:
        """Whether there is no time."""
        found = nw.col(self.column).is_null()
        if self.is_float:
            return found | nw.col(self.column).is_nan()
        return found | _is_nothing(self.column) if self.is_text else found

    def broken(self) -> Any:
        """Whether a number is not whole."""
        value = self.number()
        return (value != value.floor()) if self.is_float else nw.lit(False)

    def number(self) -> Any:
        """The number itself; 0 if it is missing."""
        zero = 0.0 if self.is_float else 0
        return nw.when(self.missing()).then(nw.lit(zero)).otherwise(nw.col(self.column))

    def _parts(self) -> tuple[Any, Any, Any]:
        """Year, month and day; those of January 1970 if they are missing."""
        if self.is_text:
            text = nw.when(self.missing()).then(nw.lit("1970-01-01")).otherwise(nw.col(self.column).cast(nw.String))
            text = text.str.strip_chars()
            day = nw.lit(1) if self.kind == dates.MONTH else text.str.slice(8, 2).cast(nw.Int64)
            return text.str.slice(0, 4).cast(nw.Int64), text.str.slice(5, 2).cast(nw.Int64), day
        moment = nw.col(self.column).dt
        year, month, day = moment.year().fill_null(1970), moment.month().fill_null(1), moment.day().fill_null(1)
        return year.cast(nw.Int64), month.cast(nw.Int64), day.cast(nw.Int64)

    def months(self) -> Any:
        """Months since January 1970."""
        year, month, _ = self._parts()
        return year * 12 + month - (12 * 1970 + 1)

    def days(self) -> Any:
        """Days since the first of January 1970 (the days of the civil calendar, by years that begin in March)."""
        year, month, day = self._parts()
        year = nw.when(month <= 2).then(year - 1).otherwise(year)
        since_march = nw.when(month > 2).then(month - 3).otherwise(month + 9)
        era = year // 400
        of_era = year - era * 400
        of_year = (since_march * 153 + 2) // 5 + day - 1
        return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468

    def period(self, round: str) -> Any:
        """The number of the round, as `dates.periods` counts."""
        if round == "number":
            return self.number().cast(nw.Int64)
        if round == "month":
            return self.months()
        if round == "quarter":
            year, month, _ = self._parts()
            return year * 4 + (month - 1) // 3 - 4 * 1970
        return self.days() if round == "day" else (self.days() + 3 + 7 * WEEKS) // 7 - WEEKS

    def before(self, other: "EngineTime") -> Any:
        """Whether it lies before another time, as far as the coarser kind of the two can tell; False if missing."""
        both = ~self.missing() & ~other.missing()
        kinds = {self.kind, other.kind}
        if dates.NUMBER in kinds:
            return both & (self.number() < other.number())
        if dates.MONTH in kinds:
            return both & (self.months() < other.months())
        if kinds <= {dates.TIMESTAMP, dates.ZONED} and not self.is_text and not other.is_text:
            return both & (nw.col(self.column) < nw.col(other.column)).fill_null(False)
        return both & (self.days() < other.days())

    def check(self, round: str) -> None:
        """InputError if it does not fit the rounds."""
        if self.kind == dates.NUMBER and round in CALENDAR:
            remedy = 'give round = "number", or cast it to a date in your engine'
            raise InputError("time", self.column, f"holds whole numbers, and a round is a {round}", remedy)
        if self.kind != dates.NUMBER and round == "number":
            raise InputError("time", self.column, f"holds a {self.kind}, no whole number", 'give round = "month"')
        if self.kind == dates.MONTH and round in dates.WITHIN_MONTHS:
            raise InputError("time", self.column, f"has no days, and a round is a {round}", 'give round = "month"')


def _is_nothing(column: str) -> Any:
    return nw.col(column).cast(nw.String).str.strip_chars().is_in(NOTHING).fill_null(False)


def _kind_of_texts(frame: Any, column: str) -> str:
    """The kind of the dates that a column of texts holds; they are looked at in a scan of their own."""
    given = frame.filter(~nw.col(column).is_null()).select(text=nw.col(column).cast(nw.String).str.strip_chars())
    given = given.filter(~nw.col("text").is_in(NOTHING))
    first = given.head(1).collect().to_arrow().column("text").to_pylist()
    remedy = "write dates as 2026-01-31, or cast the column to a date in your engine"
    if not first:
        raise InputError("time", column, "has no time at all", "choose another column")
    for kind, pattern in TEXTS.items():
        others = given.filter(~nw.col("text").str.contains(pattern)).head(1).collect().to_arrow().column("text")
        texts = others.to_pylist()
        if not texts:
            return kind
        if texts[0] != first[0] and _fits(first[0], pattern):
            raise InputError(f"time: {column}", texts[0], f"is not a {kind} like the others ({first[0]})", remedy)
    raise InputError(f"time: {column}", first[0], f"is not a time such as {dates.EXAMPLES}", remedy)


def _fits(text: str, pattern: str) -> bool:
    import re

    return re.match(pattern, text) is not None
