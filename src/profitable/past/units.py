"""Units of columns of numbers that are written as texts: currencies, %, months.

A column has one unit: 13.75% beside 0.1375, or $ beside €, is an error.

>>> units = Units(seen={})
>>> units.note("rate", "%", "13.75%", "loans.csv, row 1")
>>> units.notes()
['rate has percent signs: 13.75% is 0.1375']
>>> units.note("rate", "", "0.1375", "loans.csv, row 2")
>>> units.check()
Traceback (most recent call last):
    ...
profitable.errors.InputError: loans.csv, row 2, column rate = '0.1375' has no percent...
"""

from typing import NamedTuple

from profitable.errors import InputError
from profitable.intake.quantities import IN_MONTHS, PERCENT, quantity

Seen = dict[str, dict[str, tuple[str, str]]]


class Units(NamedTuple):
    """How numbers are written: the decimal sign, if given, and units by column."""

    decimal: str | None = None
    seen: Seen | None = None  # of each column and unit, a text and its place

    def note(self, column: str, unit: str, text: str, place: str) -> None:
        """Note the unit of a field, if it is the first of its column."""
        if self.seen is not None:
            self.seen.setdefault(column, {}).setdefault(unit, (text, place))

    def check(self) -> None:
        """InputError if a column has several units.

        Numbers without a unit may stand beside money and months, not beside per cent.
        """
        for column, units in (self.seen or {}).items():
            named = [unit for unit in units if unit]
            if len(named) > 1:
                text, place = units[named[1]]
                problem = f"is in {named[1]}, but others are in {named[0]} ({units[named[0]][0]})"
            elif PERCENT in units and "" in units:
                text, place = units[""]
                problem = f"has no percent sign, but others have one ({units[PERCENT][0]})"
            else:
                continue
            remedy = "write all numbers of a column the same way"
            raise InputError(f"{place}, column {column}", text, problem, remedy)

    def notes(self) -> list[str]:
        """Return notes on the columns that have units, for the reader of a result."""
        found: list[str] = []
        for column, units in (self.seen or {}).items():
            for unit, (text, _) in units.items():
                if unit == PERCENT:
                    number = float(f"{self.read(text):.12g}")
                    found.append(f"{column} has percent signs: {text.strip()} is {number:g}")
                elif unit and unit != IN_MONTHS:
                    found.append(f"{column} is written in {unit}")
        return found

    def read(self, text: str) -> float:
        """Return a number without its unit."""
        return quantity(text, decimal=self.decimal).value
