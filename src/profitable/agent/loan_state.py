"""A lending book as plain values: the columns of a file, or the extras of a category.

Only counts that are not 0 are written, each with its place: category, product, and age
or round.

>>> from profitable.model.lending import Lending
>>> book, cars = LoanBook(Lending(), 1), Loans([0], [36], [0])
>>> book.quote([0], [36], [40.0], [0.12])
>>> book.add(cars, [40.0])
>>> values = values_of(book)
>>> values["rounds"]
{'place': [0], 'term': [36], 'round': [0], 'issued': [40.0], 'ended': [0.0]}
>>> twin = LoanBook(Lending(), 1)
>>> put_values(twin, values)
>>> float(twin.open.sum())
40.0
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profitable.agent.loan_book import (
    BY_AGE,
    BY_ROUND,
    BY_VINTAGE,
    TODAY,
    LoanBook,
    Loans,
    VintageEvents,
)
from profitable.common.types import FloatArray

# Parts of a book: the names of its arrays, and of what their last axis counts.
PARTS: Mapping[str, tuple[Sequence[str], str]] = {
    "today": (TODAY, ""),
    "rounds": (BY_ROUND, "round"),
    "ages": (BY_AGE, "age"),
}


def values_of(book: LoanBook, k: int | None = None) -> dict[str, dict[str, list[Any]]]:
    """Return the book as columns, or what belongs to one category."""
    chosen = slice(None) if k is None else slice(k, k + 1)
    found: dict[str, dict[str, list[Any]]] = {}
    for part, (names, axis) in PARTS.items():
        arrays = [getattr(book, name)[chosen] for name in names]
        found[part] = _sparse(book, names, arrays, axis)
    if k is None:
        risk, defaults = book.vintages()
        found["vintages"] = _vintages(book, risk, defaults)
    else:
        found["pending"] = _pending(book, k)
    return {part: columns for part, columns in found.items() if columns["term"]}


def _sparse(
    book: LoanBook, names: Sequence[str], arrays: Sequence[FloatArray], axis: str
) -> dict[str, list[Any]]:
    where = np.nonzero(np.any([array != 0.0 for array in arrays], axis=0))
    places = {"place": where[0].tolist(), "term": book.terms[where[1]].tolist()}
    if axis:
        places[axis] = where[2].tolist()
    return places | {name: array[where].tolist() for name, array in zip(names, arrays, strict=True)}


def vintages_of(book: LoanBook) -> dict[str, list[Any]]:
    """Return the vintages as of the last round; the rest is that of the categories."""
    return _vintages(book, book.vintage_risk, book.vintage_defaults)


def _vintages(book: LoanBook, risk: FloatArray, defaults: FloatArray) -> dict[str, list[Any]]:
    where = np.nonzero((risk != 0.0) | (defaults != 0.0))
    return {
        "round": where[0].tolist(),
        "term": book.terms[where[1]].tolist(),
        "age": where[2].tolist(),
        "at_risk": risk[where].tolist(),
        "defaults": defaults[where].tolist(),
    }


def _pending(book: LoanBook, k: int) -> dict[str, list[Any]]:
    mine = [each for each in book.pending if (each.loans.positions == k).any()]
    if not mine:
        return {"term": []}
    found = VintageEvents.joined(mine)
    found = found.of(found.loans.positions == k)
    return {
        "term": found.loans.terms.tolist(),
        "round": found.loans.accepted_in.tolist(),
        "age": found.ages.tolist(),
        "at_risk": found.at_risk.tolist(),
        "defaults": found.defaulted.tolist(),
    }


def put_values(
    book: LoanBook, values: Mapping[str, Mapping[str, Sequence[Any]]], k: int | None = None
) -> None:
    """Put columns into a book, or those of one category in place of its own."""
    terms = [term for columns in values.values() for term in columns["term"]]
    book.products(np.unique(np.array(terms, np.int64)))
    if k is not None:
        book.forget(k)
    for part, (names, axis) in PARTS.items():
        if part not in values:
            continue
        columns = values[part]
        places = np.array(columns["place"], np.int64) if k is None else k
        where: tuple[Any, ...] = (places, book.products(np.array(columns["term"], np.int64)))
        if axis:
            where = (*where, np.array(columns[axis], np.int64))
        for name in names:
            getattr(book, name)[where] = columns[name]
    if "vintages" in values:
        columns = values["vintages"]
        where = (
            np.array(columns["round"], np.int64),
            book.products(np.array(columns["term"], np.int64)),
            np.array(columns["age"], np.int64),
        )
        for name, column in zip(BY_VINTAGE, ("at_risk", "defaults"), strict=True):
            getattr(book, name)[where] = columns[column]
    if "pending" in values:
        columns = values["pending"]
        own = np.full(len(columns["term"]), k)
        loans = Loans(own, np.array(columns["term"]), np.array(columns["round"]))
        book.pending.append(
            VintageEvents(
                loans,
                np.array(columns["age"], np.int64),
                np.array(columns["at_risk"], np.float64),
                np.array(columns["defaults"], np.float64),
            )
        )
