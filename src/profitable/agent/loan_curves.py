"""Curves of a lending book as plain values, for pictures.

They are hazards, emergence, levels, and defaults against those that are affordable.

>>> from profitable.agent.loan_book import Loans
>>> from profitable.model.lending import Lending
>>> book, cars = LoanBook(Lending(), 1), Loans([0], [2], [0])
>>> book.quote([0], [2], [100.0], [0.12])
>>> book.add(cars, [100.0])
>>> book.advance()
>>> book.end(cars, [10.0], [0.0])
>>> found = loan_curves(book, book.read(np.ones(1)), rounds=3)
>>> [each["term"] for each in found["products"]], found["levels"][0]["defaults"]
([2], 10.0)
"""

import math
from typing import Any

import numpy as np

from profitable.agent.loan_book import BookReading, LoanBook
from profitable.common.types import FloatArray

HALF = 0.5  # a default that keeps logarithms finite
FEWEST_EXPECTED = 1.0  # defaults of a period, below which its level says nothing


def loan_curves(book: LoanBook, reading: BookReading, *, rounds: int) -> dict[str, Any]:
    """Return hazards by age and product, and the level of defaults by period of issue.

    A period has so many `rounds`.
    """
    levels = _levels(book, reading, rounds)
    return {
        "products": [_product(book, reading, p) for p in range(book.terms.size)],
        "levels": levels,
        "level_seen": level_seen(
            np.array([each["defaults"] for each in levels]),
            np.array([each["expected"] for each in levels]),
        ),
        "level": book.lending.level,
    }


def _product(book: LoanBook, reading: BookReading, p: int) -> dict[str, Any]:
    """Return the curves of a product; ages that nobody has reached are extrapolated."""
    ages = int(book.ages[p])
    hazards, closings = reading.rates.hazards[p, :ages], reading.rates.closings[p, :ages]
    alive = np.concatenate([[1.0], np.cumprod((1.0 - hazards) * (1.0 - closings))[:-1]])
    emerged = np.cumsum(alive * hazards)
    at_risk = book.at_risk[:, p, :ages].sum(axis=0) + book.open[:, p, :ages].sum(axis=0)
    return {
        "term": int(book.terms[p]),
        "hazard": hazards.tolist(),
        "emerged": (emerged / max(float(emerged[-1]), 1e-300)).tolist(),
        "lifetime": float(emerged[-1]),
        "seen": (at_risk > 0.0).tolist(),
    }


def by_age(book: LoanBook, reading: BookReading, k: int) -> list[tuple[float, float | None]]:
    """Return the defaults of a category up to each age, and those it could afford.

    The last pair is that of its standing.

    >>> from profitable.agent.loan_book import Loans
    >>> from profitable.model.lending import Lending
    >>> book, cars = LoanBook(Lending(), 1), Loans([0], [2], [0])
    >>> book.quote([0], [2], [100.0], [0.12])
    >>> book.add(cars, [100.0])
    >>> book.end(cars, [10.0], [0.0])
    >>> book.advance()
    >>> reading = book.read(np.ones(1))
    >>> (known, _), (_, affordable) = by_age(book, reading, 0)
    >>> known, affordable == reading.standing(0).affordable
    (10.0, True)
    """
    at_risk = book.at_risk[k] + book.open[k]
    ages = int(np.flatnonzero(at_risk.any(axis=0)).max(initial=-1)) + 1
    known = np.cumsum(book.defaults[k].sum(axis=0)[:ages]).tolist()
    limit = reading.standing(k).break_even
    if limit is None:
        return [(each, None) for each in known]
    exposure = np.cumsum((at_risk * reading.rates.hazards).sum(axis=0)[:ages])
    if limit == math.inf:
        return [(each, limit) for each in known]
    return list(zip(known, (limit * exposure).tolist(), strict=True))


def _levels(book: LoanBook, reading: BookReading, rounds: int) -> list[dict[str, Any]]:
    """Return defaults of the loans of each period, and those that the hazards expect.

    As in a reading, loans that are open were at risk in this round.
    """
    risk, defaults = book.vintages()
    ages = np.arange(min(book.round + 1, risk.shape[2]))
    risk[book.round - ages, :, ages] += book.open.sum(axis=0)[:, ages].T
    expected = (risk * reading.rates.hazards).sum(axis=(1, 2))
    known = defaults.sum(axis=(1, 2))
    found: list[dict[str, Any]] = []
    earliest = 0 if book.issued[:, :, 0].any() else 1
    for first in range(earliest, book.round + 1, rounds):
        part = slice(first, first + rounds)
        if expected[part].sum() >= FEWEST_EXPECTED:
            found.append(
                {
                    "first": first,
                    "last": min(first + rounds - 1, book.round),
                    "defaults": float(known[part].sum()),
                    "expected": float(expected[part].sum()),
                    "level": float(known[part].sum() / expected[part].sum()),
                }
            )
    return found


def level_seen(defaults: FloatArray, expected: FloatArray) -> float | None:
    """Return the standard deviation of the logarithm of levels, beyond chance.

    Every period counts the same, and what its number of defaults varies by chance is
    subtracted.

    >>> level_seen(np.array([50.0, 150.0]), np.array([100.0, 100.0]))
    0.7635...
    """
    if defaults.size < 2:
        return None
    logs = np.log((defaults + HALF) / (expected + HALF))
    chance = float(np.mean(1.0 / (defaults + HALF)))
    return math.sqrt(max(float(np.var(logs, ddof=1)) - chance, 0.0))
