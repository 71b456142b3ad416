"""Checks of numbers at the edge of the package: one place that turns a bad argument into a ParameterError."""

from numbers import Real
from typing import TypeGuard

from profitable.errors import ParameterError

LARGEST = 1e100  # numbers beyond it are refused, so that sums and products of legal ones stay finite
MOST = 10**15  # the same for counts, so that they stay exact as floats


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a real number, NumPy's included; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def finite(field: str, value: object, remedy: str = "give a finite number") -> float:
    """`value` as a float, if it is a finite real number of reasonable size."""
    if not is_number(value) or not -LARGEST <= value <= LARGEST:
        size = f" of at most {LARGEST:g}" if is_number(value) and abs(value) > LARGEST else ""
        raise ParameterError(field, value, f"is not a finite number{size}", remedy)
    return float(value)


def positive(field: str, value: object, remedy: str = "give a finite number above 0") -> float:
    """`value` as a float, if it is a finite number above 0."""
    number = finite(field, value, remedy)
    if number < 1.0 / LARGEST:
        raise ParameterError(field, value, "is not positive", remedy)
    return number


def not_negative(field: str, value: object, remedy: str = "give a finite number, 0 or more") -> float:
    """`value` as a float, if it is a finite number that is not negative."""
    number = finite(field, value, remedy)
    if number < 0.0:
        raise ParameterError(field, value, "is negative", remedy)
    return number


def whole(field: str, value: object, least: int = 1, most: int = MOST) -> int:
    """`value` as an int, if it is a whole number from `least` to `most`."""
    remedy = f"give a whole number, {least} or more"
    if not is_number(value) or not -LARGEST <= value <= LARGEST or not float(value).is_integer():
        raise ParameterError(field, value, "is not a whole number", remedy)
    number = int(value)
    if number < least:
        raise ParameterError(field, value, f"is less than {least}", remedy)
    if number > most:
        raise ParameterError(field, value, f"is more than {most}", f"give a whole number from {least} to {most}")
    return number
