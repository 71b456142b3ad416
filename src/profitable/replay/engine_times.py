"""Times as an engine computes them: dates as numbers of periods, by arithmetic that every engine has.

The years, months and days of a column become the numbers that `dates.periods` gives for single rows.
"""

import re
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from profitable.errors import InputError
from profitable.replay import dates
from profitable.replay.columns import NOTHING
from profitable.replay.layout import CALENDAR

DAY = r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|[12]\d))"
TIME_PATTERNS = {
    dates.MONTH: r"^\d{4}-(?:0[1-9]|1[0-2])$",
    dates.DATE: rf"^\d{{4}}-{DAY}$",
    dates.TIMESTAMP: rf"^\d{{4}}-{DAY}[ T]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?$",
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

    def put(self, frame: Any, name: str, round: str) -> Any:
        """The frame with the columns of a time: `name` is the period, and others that begin with it say more.

        Each step is a projection of its own: engines copy an expression wherever it is used, and copies of copies grow
        out of all bounds.
        """
        gone = nw.col(f"{name}_gone")
        frame = frame.with_columns(**{f"{name}_gone": self.missing()})
        if self.kind == dates.NUMBER:
            zero = 0.0 if self.is_float else 0
            number = nw.when(gone).then(nw.lit(zero)).otherwise(nw.col(self.column))
            frame = frame.with_columns(**{f"{name}_number": number})
            number = nw.col(f"{name}_number")
            broken = number != number.floor() if self.is_float else nw.lit(False)
            return frame.with_columns(**{f"{name}_broken": broken, name: number.cast(nw.Int64)})
        frame = self._with_parts(frame, name).with_columns(**{f"{name}_broken": nw.lit(False)})
        year, month = nw.col(f"{name}_year"), nw.col(f"{name}_month")
        frame = frame.with_columns(**{f"{name}_months": year * 12 + month - (12 * 1970 + 1)})
        frame = self._with_days(frame, name)
        days = nw.col(f"{name}_days")
        period = {
            "month": nw.col(f"{name}_months"),
            "quarter": year * 4 + (month - 1) // 3 - 4 * 1970,
            "day": days,
            "week": (days + 3 + 7 * WEEKS) // 7 - WEEKS,
        }[round]
        return frame.with_columns(**{name: period})

    def _with_parts(self, frame: Any, name: str) -> Any:
        """With year, month and day; those of January 1970 if they are missing."""
        if not self.is_text:
            moment = nw.col(self.column).dt
            parts = {"year": moment.year().fill_null(1970), "month": moment.month().fill_null(1)}
            parts["day"] = moment.day().fill_null(1)
            return frame.with_columns(**{f"{name}_{part}": value.cast(nw.Int64) for part, value in parts.items()})
        given = nw.col(self.column).cast(nw.String).str.strip_chars()
        text = nw.when(nw.col(f"{name}_gone")).then(nw.lit("1970-01-01")).otherwise(given)
        frame = frame.with_columns(**{f"{name}_text": text})
        text = nw.col(f"{name}_text").str
        slices = {"year": text.slice(0, 4).cast(nw.Int64), "month": text.slice(5, 2).cast(nw.Int64)}
        slices["day"] = nw.lit(1) if self.kind == dates.MONTH else text.slice(8, 2).cast(nw.Int64)
        return frame.with_columns(**{f"{name}_{part}": value for part, value in slices.items()})

    def _with_days(self, frame: Any, name: str) -> Any:
        """With days since the first of January 1970: those of the civil calendar, by years that begin in March."""

        def col(part: str) -> Any:
            return nw.col(f"{name}_{part}")

        steps: tuple[dict[str, Any], ...] = (
            {
                "since": nw.when(col("month") > 2).then(col("month") - 3).otherwise(col("month") + 9),
                "march": nw.when(col("month") <= 2).then(col("year") - 1).otherwise(col("year")),
            },
            {"era": col("march") // 400},
            {"of_era": col("march") - col("era") * 400, "of_year": (col("since") * 153 + 2) // 5 + col("day") - 1},
            {
                "days": col("era") * 146_097
                + col("of_era") * 365
                + col("of_era") // 4
                - col("of_era") // 100
                + col("of_year")
                - 719_468
            },
        )
        for step in steps:
            frame = frame.with_columns(**{f"{name}_{part}": value for part, value in step.items()})
        return frame

    def before(self, name: str, other: "EngineTime", other_name: str) -> Any:
        """Whether it lies before another time, as far as the coarser kind of the two can tell; False if missing."""
        both = ~nw.col(f"{name}_gone") & ~nw.col(f"{other_name}_gone")
        kinds = {self.kind, other.kind}
        if kinds <= {dates.TIMESTAMP, dates.ZONED} and not self.is_text and not other.is_text:
            return both & (nw.col(self.column) < nw.col(other.column)).fill_null(False)
        part = "number" if dates.NUMBER in kinds else "months" if dates.MONTH in kinds else "days"
        return both & (nw.col(f"{name}_{part}") < nw.col(f"{other_name}_{part}"))

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
    for kind, pattern in TIME_PATTERNS.items():
        others = given.filter(~nw.col("text").str.contains(pattern)).head(1).collect().to_arrow().column("text")
        texts = others.to_pylist()
        if not texts:
            return kind
        if texts[0] != first[0] and re.match(pattern, first[0]):
            raise InputError(f"time: {column}", texts[0], f"is not a {kind} like the others ({first[0]})", remedy)
    raise InputError(f"time: {column}", first[0], f"is not a time such as {dates.EXAMPLES}", remedy)
