"""Amounts of money in words, and numbers with their intervals.

>>> in_short(13_950_706), in_short(-5_321)
('13.95 M', '-5 321.0')
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A number with an interval that should cover it in 95 % of all cases."""

    middle: float
    low: float
    high: float


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


def in_short(value: float) -> str:
    """Money in few digits.

    >>> in_short(13_950_706), in_short(-5_321), in_short(12.34), in_short(0.0314)
    ('13.95 M', '-5 321.0', '12.3', '0.031')
    """
    unit, word = unit_of(abs(value))
    return f"{value / unit:,.{digits_of(abs(value))}f}{word}".replace(",", " ")
