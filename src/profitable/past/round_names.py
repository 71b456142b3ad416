"""Rounds of a past: counted from the first, and named.

>>> names_of_rounds("loans.csv", 3, 2, lambda place: f"2026-0{place + 1}")
['2026-01', '2026-02', '2026-03']
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.errors import InputError
from profitable.past import calendar_rounds as rounds
from profitable.past.past import NEVER_KNOWN

LEAST_ROUNDS = 3
LARGEST_TABLE = 20_000_000  # rounds times categories: some arrays of that size are kept


def count_periods(
    source: str,
    asked: npt.NDArray[np.integer],
    known: npt.NDArray[Any] | None,
    round: str,
    categories: int,
    base: int = 0,
) -> tuple[npt.NDArray[Any], list[str]]:
    """Count periods since `base` from the first one, in place.

    Returns the rounds in which outcomes are known, and the names of all rounds.
    """
    first, last = int(asked.min()), int(asked.max())
    asked -= first - 1
    if known is not None:
        np.subtract(known, first - 1, out=known, where=known != NEVER_KNOWN)
    labels = names_of_rounds(
        source,
        last - first + 1,
        categories,
        lambda place: rounds.label(base + first + place, round),
    )
    return asked if known is None else known, labels


def names_of_rounds(
    source: str, total: int, categories: int, name_of: Callable[[int], str]
) -> list[str]:
    """Return the names of the rounds; InputError if they are too few or too many."""
    field, span = f"{source}: rounds", f"{name_of(0)} to {name_of(total - 1)}"
    if total < LEAST_ROUNDS:
        raise InputError(
            field,
            span,
            f"are {total}, too few to learn from",
            "give shorter rounds, such as day, or fewer rows in each",
        )
    if total * categories > LARGEST_TABLE:
        raise InputError(
            field,
            span,
            f"are {total}, too many for {categories} categories",
            "give longer rounds, check the first and the last date, or choose fewer categories",
        )
    return [name_of(place) for place in range(total)]
