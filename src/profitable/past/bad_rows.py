"""Bad rows: fields that cannot be read, by reason, with the first of each.

The fields of a piece of rows are marked (`Marks`) while they are read.  `BadRows` adds
the marks of all pieces up.  A row counts once, for the first reason that applies.

>>> bad = BadRows()
>>> marks, wrong = Marks(), np.array([False, True, True])
>>> lent = "loans.csv, row 2, column lent"
>>> error = InputError(lent, -5.0, "is not above 0", "correct it")
>>> marks.add("lent", "is not above 0", wrong, lambda row: error)
>>> bad.take(marks, np.array([0.0, 1.0, np.nan])).tolist()
[False, True, True]
>>> print(bad.error(3))
loans.csv, row 2, column lent = -5.0 is not above 0 (2 of 3 rows are bad); correct it,
or leave bad rows out with skip_bad_rows.
>>> bad.left_out(OutcomeTally(), OutcomeTally())[0].reason
'bad row: lent is not above 0 (first: loans.csv, row 2: -5.0)'
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray
from profitable.errors import InputError
from profitable.past.past import LeftOut, OutcomeTally

REASONS_SHOWN = 3  # of bad rows, in an error, beside the first
LONGEST_VALUE = 40  # letters
ErrorOf = Callable[[int], InputError]


class BadFields(NamedTuple):
    """Fields of a column that are bad for one reason."""

    column: str
    reason: str
    rows: BoolArray
    error_of: ErrorOf  # the error of a row of the piece


class Marks:
    """The bad fields of a piece, in the order in which they were found."""

    def __init__(self) -> None:
        self.found: list[BadFields] = []

    def add(self, column: str, reason: str, rows: BoolArray, error_of: ErrorOf) -> None:
        """Mark the fields of some rows, [n]."""
        self.found.append(BadFields(column, reason, rows, error_of))

    def of(self, columns: set[str]) -> BoolArray | None:
        """Return the rows that are bad because of some columns; None if no row is."""
        return _either([each.rows for each in self.found if each.column in columns])


def _either(rows: list[BoolArray]) -> BoolArray | None:
    return np.logical_or.reduce(rows) if rows else None


@dataclass
class BadReason:
    """The rows that are bad for one reason."""

    column: str
    reason: str
    first: InputError
    place: tuple[int, int]  # piece and row of the first
    # Their rewards, and the outcomes of those whose amount or cost is missing or bad.
    rewards: OutcomeTally = field(default_factory=OutcomeTally)
    outcomes: OutcomeTally = field(default_factory=OutcomeTally)

    @property
    def rows(self) -> int:
        """How many they are."""
        return self.rewards.rows + self.outcomes.rows

    @property
    def text(self) -> str:
        """The reason, for a reader."""
        return f"{self.column} {self.reason}"


class BadRows:
    """All bad rows, by reason."""

    def __init__(self) -> None:
        self.reasons: dict[tuple[str, str], BadReason] = {}
        self._pieces = 0

    @property
    def rows(self) -> int:
        """How many rows are bad."""
        return sum(each.rows for each in self.reasons.values())

    def take(
        self,
        marks: Marks,
        rewards: FloatArray,
        *,
        ignored: BoolArray | None = None,
        is_outcome: BoolArray | None = None,
    ) -> BoolArray:
        """Add the marks of a piece [n]; return its bad rows.

        `rewards` are NaN if they are not known; of some rows they are outcomes.  Rows
        that are left out anyway are `ignored`.
        """
        self._pieces += 1
        bad = np.zeros(rewards.size, bool)
        free = np.ones(rewards.size, bool) if ignored is None else ~ignored
        for each in marks.found:
            new = each.rows & free
            if not new.any():
                continue
            free &= ~new
            bad |= new
            index = int(new.argmax())
            counted = self._reason(each.column, each.reason, each.error_of, index)
            plain = new if is_outcome is None else new & ~is_outcome
            counted.rewards.add(rewards[plain])
            if is_outcome is not None:
                counted.outcomes.add(rewards[new & is_outcome])
        return bad

    def lose(self, reason: str, first: InputError) -> None:
        """Add a row of which nothing can be read."""
        self._reason("the row", reason, lambda _: first, 0).rewards.add(np.array([np.nan]))

    def _reason(self, column: str, reason: str, error_of: ErrorOf, index: int) -> BadReason:
        found = self.reasons.get((column, reason))
        if found is None:
            found = BadReason(column, reason, error_of(index), (self._pieces, index))
            self.reasons[column, reason] = found
        return found

    def error(self, rows: int) -> InputError:
        """Return the error of the most frequent reason, which counts the others."""
        first, *others = sorted(self.reasons.values(), key=lambda each: (-each.rows, each.place))
        error, problem = first.first, first.first.problem
        if self.rows > 1:
            said = [f"{number_text(self.rows)} of {number_text(rows)} rows are bad"]
            if others:
                said[0] += f", {number_text(first.rows)} like this"
            said += [
                f"{number_text(each.rows)} because {each.text} (first: {_place(each.first)})"
                for each in others[:REASONS_SHOWN]
            ]
            if rest := sum(each.rows for each in others[REASONS_SHOWN:]):
                said.append(f"{number_text(rest)} for other reasons")
            problem += f" ({', '.join(said)})"
        remedy = f"{error.remedy}, or leave bad rows out with skip_bad_rows"
        return InputError(error.field, error.value, problem, remedy)

    def left_out(self, kept: OutcomeTally, kept_outcomes: OutcomeTally) -> list[LeftOut]:
        """Compare bad rows with those that are kept, by reason."""
        found: list[LeftOut] = []
        for each in self.reasons.values():
            by_outcome = each.outcomes.given > each.rewards.given
            compared = LeftOut.of(
                f"bad row: {each.text} (first: {_place(each.first)})",
                each.outcomes if by_outcome else each.rewards,
                kept_outcomes if by_outcome else kept,
            )
            found.append(replace(compared, rows=each.rows))
        return found


def _place(error: InputError) -> str:
    """Return the place of a bad field without its column, and its value."""
    value = " ".join(str(error.value).split())
    if len(value) > LONGEST_VALUE:
        value = f"{value[:LONGEST_VALUE]}..."
    place = error.field.partition(", column ")[0].rpartition("/")[2]
    return place if error.value is None else f"{place}: {value}"
