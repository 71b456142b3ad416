"""Checks of the numbers that callers pass: a bad one becomes a ParameterError."""

import math
from collections.abc import Sequence
from dataclasses import fields
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any, TypeGuard, cast

from profitable.errors import ParameterError

# Numbers beyond it are refused, so that sums and products of legal ones stay finite.
LARGEST = 1e100
BELOW_1 = math.nextafter(1.0, 0.0)
MOST_CHANGES = 1_000  # pairs of a round and a value
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


def not_negative_or_infinite(field: str, value: object) -> float:
    """Return `value` as a float if it is a number that is not negative, or infinity."""
    if number(value) == math.inf:
        return math.inf
    return not_negative(field, value, "give a number, 0 or more, or inf")


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


def by_round(field: str, given: object, what: str) -> list[tuple[int, Any]]:
    """Return pairs [round, value] with rising rounds, the first of them 1.

    `what` names the values in errors; these are for the caller to check.

    >>> by_round("levels", [[1, 2.3], [30, 1.0]], "level")
    [(1, 2.3), (30, 1.0)]
    """
    is_list = isinstance(given, list | tuple)
    pairs: list[Any] = list(cast(Sequence[Any], given)) if is_list else []
    remedy = f"give [[1, {what}], [round, {what}], ...] with rising rounds"
    if not pairs or not all(
        isinstance(pair, list | tuple) and len(cast(Sequence[Any], pair)) == 2 for pair in pairs
    ):
        problem = f"must be a number, or a list of rounds and {what}s"
        raise ParameterError(field, given, problem, remedy)
    if len(pairs) > MOST_CHANGES:
        raise ParameterError(
            field, f"{len(pairs)} pairs", "are too many", f"give at most {MOST_CHANGES}"
        )
    rounds = [whole(f"round in {field}", start) for start, _ in pairs]
    if rounds[0] != 1:
        raise ParameterError(
            field, pairs, f"begins in round {rounds[0]} and not in round 1", remedy
        )
    for earlier, later in pairwise(rounds):
        if later <= earlier:
            raise ParameterError(field, pairs, f"has round {later} after round {earlier}", remedy)
    return [(start, value) for start, (_, value) in zip(rounds, pairs, strict=True)]
