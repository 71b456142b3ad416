"""Checks of the numbers that callers pass: a bad one becomes a ParameterError."""

from decimal import Decimal
from numbers import Real
from typing import TypeGuard

from profitable.errors import ParameterError

LARGEST = 1e100  # numbers beyond it are refused, so that sums and products of legal ones stay finite
MOST = 10**15  # the same for counts, so that they stay exact as floats


def number(value: object) -> float | None:
    """`value` as a plain number, or None if it is no real number.

    NumPy's numbers and decimal ones count, True and False do not.
    """
    if isinstance(value, Decimal):
        return None if value.is_snan() else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    plain = getattr(value, "item", None)  # comparing a float32 with a large double would warn
    return plain() if plain else value  # type: ignore[return-value]


def fits(value: float | None, low: float = -LARGEST, high: float = LARGEST) -> TypeGuard[float]:
    """Whether `value` is a number from `low` to `high`, and at most `LARGEST` in size; None and NaN are not."""
    return value is not None and max(low, -LARGEST) <= value <= min(high, LARGEST)


def finite(field: str, value: object, remedy: str = "give a finite number") -> float:
    """`value` as a float, if it is a finite real number of reasonable size."""
    plain = number(value)
    if not fits(plain):
        raise ParameterError(field, value, f"is not a finite number of at most {LARGEST:g}", remedy)
    return float(plain)


def positive(field: str, value: object, remedy: str = "give a finite number above 0") -> float:
    """`value` as a float, if it is a finite number above 0."""
    plain = finite(field, value, remedy)
    if plain < 1.0 / LARGEST:
        raise ParameterError(field, value, "is not positive", remedy)
    return plain


def not_negative(field: str, value: object, remedy: str = "give a finite number, 0 or more") -> float:
    """`value` as a float, if it is a finite number that is not negative."""
    plain = finite(field, value, remedy)
    if plain < 0.0:
        raise ParameterError(field, value, "is negative", remedy)
    return plain


def whole(field: str, value: object, least: int = 1, most: int = MOST) -> int:
    """`value` as an int, if it is a whole number from `least` to `most`."""
    if value.__class__ is int and least <= value <= most:  # type: ignore[operator]  # the everyday case, made fast
        return value  # type: ignore[return-value]
    remedy = f"give a whole number, {least} or more"
    plain = number(value)
    if not fits(plain) or not float(plain).is_integer():
        raise ParameterError(field, value, "is not a whole number", remedy)
    if plain < least:
        raise ParameterError(field, value, f"is less than {least}", remedy)
    if plain > most:
        raise ParameterError(field, value, f"is more than {most}", f"give a whole number from {least} to {most}")
    return int(plain)
