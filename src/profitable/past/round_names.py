"""Rounds of a past: counted from the first, named, and known at maturity.

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


def at_maturity(
    asked: npt.NDArray[Any], known: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], list[str]]:
    """Let outcomes count when the latest of their round is known; return notes, too.

    Losses are often known before gains.  As they come, they would make a band look
    worse than it is.

    >>> asked = np.array([1, 1, 2, 3])
    >>> at_maturity(asked, np.array([2, 4, 3, NEVER_KNOWN]))[0][:3].tolist()
    [4, 4, 5]
    """
    ends = known != NEVER_KNOWN
    longest = int((known - asked)[ends].max(initial=0))
    if longest == 0:
        return known, []
    known = np.where(ends, asked + longest, NEVER_KNOWN).astype(known.dtype)
    said = (
        f"outcomes count {longest} rounds after the client asked, the longest that any took: as "
        "they come, losses are often known before gains. Without an order, they count as they come"
    )
    return known, [said]


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
