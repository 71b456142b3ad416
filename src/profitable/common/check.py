"""Checks of the numbers that callers pass: a bad one becomes a ParameterError."""

import math
from dataclasses import fields
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

from profitable.errors import ParameterError

# Numbers beyond it are refused, so that sums and products of legal ones stay finite.
LARGEST = 1e100
BELOW_1 = math.nextafter(1.0, 0.0)
MOST = 10**15  # the same for counts, so that they stay exact as floats


def number(value: object) -> float | None:
    """Return `value` as a plain number, or None if it is not a real number.

    NumPy's numbers and decimal ones count, True and False do not.
    """
    if isinstance(value, Decimal):
        return None if value.is_snan() else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    plain = getattr(value, "item", None)  # comparing a float32 with a large double would warn
    return plain() if plain else value  # type: ignore[return-value]


def fits(value: float | None, low: float = -LARGEST, high: float = LARGEST) -> TypeGuard[float]:
    """Return whether `value` is a number from `low` to `high`, within `LARGEST`.

    None and NaN are not.
    """
    return value is not None and max(low, -LARGEST) <= value <= min(high, LARGEST)


def within(field: str, value: object, low: float, high: float, problem: str, remedy: str) -> float:
    """Return `value` as a float if it is a number from `low` to `high`."""
    plain = number(value)
    if not fits(plain, low, high):
        raise ParameterError(field, value, problem, remedy)
    return float(plain)


def declared_fields(owner: Any) -> None:
    """Check the fields of a frozen dataclass that have a "check" in their metadata.

    Optional ones may be None.
    """
    for field in fields(owner):
        value = getattr(owner, field.name)
        if "check" in field.metadata and not (value is None and field.default is None):
            object.__setattr__(owner, field.name, field.metadata["check"](field.name, value))


def finite(field: str, value: object, remedy: str = "give a finite number") -> float:
    """Return `value` as a float if it is a finite real number of reasonable size."""
    problem = f"is not a finite number of at most {LARGEST:g}"
    return within(field, value, -LARGEST, LARGEST, problem, remedy)


def positive(field: str, value: object, remedy: str = "give a finite number above 0") -> float:
    """Return `value` as a float if it is a finite number above 0."""
    plain = finite(field, value, remedy)
    if plain < 1.0 / LARGEST:
        raise ParameterError(field, value, "is not positive", remedy)
    return plain


def not_negative(
    field: str, value: object, remedy: str = "give a finite number, 0 or more"
) -> float:
    """Return `value` as a float if it is a finite number that is not negative."""
    plain = finite(field, value, remedy)
    if plain < 0.0:
        raise ParameterError(field, value, "is negative", remedy)
    return plain


def whole(field: str, value: object, least: int = 1, most: int = MOST) -> int:
    """Return `value` as an int if it is a whole number from `least` to `most`."""
    if value.__class__ is int and least <= value <= most:  # type: ignore[operator]  # the everyday case, made fast
        return value  # type: ignore[return-value]
    remedy = f"give a whole number, {least} or more"
    plain = number(value)
    if not fits(plain) or not float(plain).is_integer():
        raise ParameterError(field, value, "is not a whole number", remedy)
    if plain < least:
        raise ParameterError(field, value, f"is less than {least}", remedy)
    if plain > most:
        raise ParameterError(
            field, value, f"is more than {most}", f"give a whole number from {least} to {most}"
        )
    return int(plain)
