"""Amounts of money in words, and numbers with their intervals.

A difference and its interval have one sign, that of the difference, and one unit:

>>> in_short(13_950_706), in_short(-5_321, "EUR")
('13.95 M', '-5 321.0 EUR')
>>> print(Interval(-280_000.0, -3_530_000.0, 1_100_000.0).in_short("EUR"))
difference -0.28 M EUR, 95 %: -3.53 to 1.10 M EUR
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A number with an interval that should cover it in 95 % of all cases."""

    middle: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is an interval; the number is known without it, too."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def size(self) -> float:
        """The largest of its numbers, without the sign; it decides the unit."""
        sizes = (abs(self.middle), abs(self.low), abs(self.high))
        return max(sizes) if self.is_known else sizes[0]

    def span(self, unit: str = "") -> str:
        """Return the interval from low to high."""
        low, high = (_number(value, self.size) for value in (self.low, self.high))
        return f"95 %: {low} to {high}{_words(unit, self.size)}"

    def in_short(self, unit: str = "") -> str:
        """Return the number, and its interval if there is one."""
        middle = f"difference {self.of_size(self.middle, unit)}"
        return f"{middle}, {self.span(unit)}" if self.is_known else middle

    def of_size(self, value: float, unit: str = "") -> str:
        """Write a value as the interval is written, so that both can be compared."""
        return _number(value, self.size) + _words(unit, self.size)


def unit_of(size: float) -> tuple[float, str]:
    """Return the unit in which amounts of a size are written, and its word."""
    if not math.isfinite(size) or size < 1e4:
        return 1.0, ""
    return (1e6, " M") if size >= 1e6 else (1e3, " k")


def digits_of(size: float) -> int:
    """Return the decimals to show: 1, 2 for millions, two figures below 1."""
    if not math.isfinite(size) or size == 0.0 or 1.0 <= size < 1e6:
        return 1
    return 2 if size >= 1e6 else 1 + min(math.ceil(-math.log10(size)), 12)


def _words(unit: str, size: float) -> str:
    """Return what follows a number of a size."""
    return unit_of(size)[1] + (f" {unit}" if unit else "")


def _number(value: float, size: float) -> str:
    """Write a number as one of a size is written; what is rounded to 0 has no sign.

    >>> _number(-3.0, 12_345.0), _number(12_345.0, 12_345.0), _number(-1_234.5, 1.0)
    ('0.0', '12.3', '-1 234.5')
    """
    return f"{value / unit_of(size)[0]:z,.{digits_of(size)}f}".replace(",", " ")


def more_or_less(difference: float, unit: str = "") -> str:
    """Write a difference as a comparison.

    >>> more_or_less(-5_321, "EUR"), more_or_less(0.0)
    ('5 321.0 EUR less', 'as much')
    """
    if difference == 0.0:
        return "as much"
    return f"{in_short(abs(difference), unit)} {'more' if difference > 0.0 else 'less'}"


def in_short(value: float, unit: str = "") -> str:
    """Money in few digits, with the unit behind, if it has one.

    >>> in_short(13_950_706), in_short(-5_321), in_short(12.34), in_short(0.0314)
    ('13.95 M', '-5 321.0', '12.3', '0.031')
    >>> in_short(13_950_706, "EUR")
    '13.95 M EUR'
    """
    return _number(value, abs(value)) + _words(unit, abs(value))
