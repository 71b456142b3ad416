"""LoanBook: the loans of an agent, counted by category, product and age.

A *product* is a term.  A loan that was accepted in round t has the age r - t in round
r.  In each round it is at risk, and then it defaults, it closes, or it stays open.  The
book keeps no single loan, only counts.

Example: 40 loans over 36 rounds were accepted in round 1.  In round 3 one of them
defaults.  So 40 were at risk at the ages 0, 1 and 2, and 39 stay open.

>>> book, cars = LoanBook(Lending(), 1), Loans([0], [36], [1])
>>> book.advance()
>>> book.add(cars, [40.0])
>>> book.advance(), book.advance()
(None, None)
>>> book.end(cars, defaulted=[1.0], closed=[0.0])
>>> book.advance()
>>> book.at_risk[0, 0, :4].tolist(), book.open[0, 0, :4].tolist()
([40.0, 40.0, 40.0, 0.0], [0.0, 0.0, 0.0, 39.0])
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from profitable.common.types import FloatArray, IntArray
from profitable.kernels import hazards
from profitable.kernels.hazards import BookRow, Counts, LendingTerms, Rates, Today
from profitable.model.lending import Lending

BY_AGE = ("open", "at_risk", "defaults", "closings")  # [K, P, J]
BY_VINTAGE = ("vintage_risk", "vintage_defaults")  # [S, P, J]
TODAY = ("asked", "offered")  # [K, P]


@dataclass(frozen=True, eq=False)
class Loans:
    """Loans of one category, one term and one round each, [M]."""

    positions: IntArray
    terms: IntArray
    accepted_in: IntArray

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, np.asarray(getattr(self, each.name), np.int64))


@dataclass(frozen=True, eq=False)
class BookReading:
    """What a book says of its categories; it never changes."""

    lending: Lending
    today: Today
    rates: Rates
    frailty: float  # variance of the multipliers between categories
    columns: FloatArray  # [BookRow, K]

    def __getitem__(self, row: BookRow) -> FloatArray:
        return self.columns[row]

    @cached_property
    def pays(self) -> FloatArray:
        """The probability that each category pays, [K]."""
        return np.exp(-self[BookRow.POSTERIOR])

    def indices(self, patience: FloatArray, *, is_posterior: bool) -> FloatArray:
        """Return the value of a loan against which the evidence is `patience`, [K]."""
        if not self.today.terms.size:
            return np.full(patience.size, np.inf)
        return hazards.value_at(
            self.today,
            self.rates,
            coded(self.lending),
            self.frailty,
            self.columns,
            patience,
            is_posterior,
        )


def coded(lending: Lending) -> LendingTerms:
    """Return the terms as kernels take them."""
    return LendingTerms(
        lending.discount,
        lending.recovery,
        lending.lag,
        lending.per_year,
        lending.level,
        lending.cycle,
        lending.frailty,
    )


class LoanBook:
    """Loans by category, product and age, and what today's clients ask for."""

    def __init__(self, lending: Lending, categories: int = 0) -> None:
        self.lending = lending
        self.round = 0  # rounds that have passed
        self.terms: IntArray = np.empty(0, np.int64)  # of the products, ascending
        empty = (categories, 0, 0)
        self.open, self.at_risk = np.zeros(empty), np.zeros(empty)
        self.defaults, self.closings = np.zeros(empty), np.zeros(empty)
        # Loans by the round that accepted them, [K, P, S]; round 0 is before the first.
        self.issued = np.zeros((categories, 0, 1))
        # Of all categories, by the round that accepted them, [S, P, J].
        self.vintage_risk, self.vintage_defaults = np.zeros((1, 0, 0)), np.zeros((1, 0, 0))
        # Clients who asked, and the sum of their rates a year; both fade.
        self.asked, self.offered = np.zeros((categories, 0)), np.zeros((categories, 0))

    @property
    def ages(self) -> IntArray:
        """Number of ages at which loans of each product are looked at, [P]."""
        return self.terms + self.lending.lag + 2

    def products(self, terms: IntArray) -> IntArray:
        """Return the positions of products; new ones are added."""
        new = np.setdiff1d(terms, self.terms)
        if new.size:
            self._add_products(np.union1d(self.terms, new))
        return np.searchsorted(self.terms, terms)

    def _add_products(self, terms: IntArray) -> None:
        places, size = np.searchsorted(terms, self.terms), int(terms[-1]) + self.lending.lag + 2
        for name in (*BY_AGE, *BY_VINTAGE, "issued", *TODAY):
            old = getattr(self, name)
            by_age = name in BY_AGE + BY_VINTAGE
            grown = np.zeros((old.shape[0], terms.size, *((size,) if by_age else old.shape[2:])))
            if by_age:
                grown[:, places, : old.shape[2]] = old
            else:
                grown[:, places] = old
            setattr(self, name, grown)
        self.terms = terms

    # --------------------------------------------------------------------------- events

    def quote(
        self, positions: npt.ArrayLike, terms: npt.ArrayLike, number: Any, rates: Any
    ) -> None:
        """Say who asks today, for which term and at which rate a year, [M] each."""
        where = np.asarray(positions, np.int64), self.products(np.asarray(terms, np.int64))
        np.add.at(self.asked, where, number)
        np.add.at(self.offered, where, np.multiply(number, rates))

    def add(self, loans: Loans, number: npt.ArrayLike) -> None:
        """Add accepted loans; those of earlier rounds were open since."""
        products, number = self.products(loans.terms), np.asarray(number, np.float64)
        np.add.at(self.issued, (loans.positions, products, loans.accepted_in), number)
        self._stay_open(loans, products, np.zeros_like(loans.terms), number)

    def end(self, loans: Loans, defaulted: npt.ArrayLike, closed: npt.ArrayLike) -> None:
        """Say how many loans defaulted and how many closed in this round."""
        self._count_ends(loans, self.round, np.asarray(defaulted), np.asarray(closed))

    def reopen(
        self, loans: Loans, ended_in: int, defaulted: npt.ArrayLike, closed: npt.ArrayLike
    ) -> None:
        """Take back what was said of loans in a round: they stayed open."""
        self._count_ends(loans, ended_in, -np.asarray(defaulted), -np.asarray(closed))

    def _count_ends(
        self, loans: Loans, round: int, defaulted: FloatArray, closed: FloatArray
    ) -> None:
        """Add ends of loans in a round, or (negative) take them away."""
        products = self.products(loans.terms)
        ages = round - loans.accepted_in
        seen = ages < self.ages[products]
        where = loans.positions[seen], products[seen], ages[seen]
        vintage = loans.accepted_in[seen], products[seen], ages[seen]
        ended = np.asarray(defaulted + closed, np.float64)
        for by_category, by_vintage, number in (
            (self.defaults, self.vintage_defaults, defaulted),
            (self.at_risk, self.vintage_risk, ended),
        ):
            np.add.at(by_category, where, number[seen])
            np.add.at(by_vintage, vintage, number[seen])
        np.add.at(self.closings, where, closed[seen])
        if round == self.round:
            np.add.at(self.open, where, -ended[seen])
        else:
            self._stay_open(loans, products, ages, -ended)

    def _stay_open(
        self, loans: Loans, products: IntArray, since: IntArray, number: FloatArray
    ) -> None:
        """Let loans be at risk from an age to the present one, and open at that."""
        now, ages = self.round - loans.accepted_in, self.ages[products]
        seen = now < ages
        np.add.at(self.open, (loans.positions[seen], products[seen], now[seen]), number[seen])
        for i in np.flatnonzero(since < now).tolist():
            k, p, vintage = loans.positions[i], products[i], loans.accepted_in[i]
            at_risk = slice(since[i], min(now[i], ages[i]))
            self.at_risk[k, p, at_risk] += number[i]
            self.vintage_risk[vintage, p, at_risk] += number[i]

    def advance(self) -> None:
        """Let a round pass: loans that stayed open were at risk, and grow older."""
        self.at_risk += self.open
        size = min(self.round + 1, self.open.shape[2])
        ages = np.arange(size)
        self.vintage_risk[self.round - ages, :, ages] += self.open.sum(axis=0)[:, :size].T
        self.open[:, :, 1:] = self.open[:, :, :-1]
        self.open[:, :, :1] = 0.0
        for p, last in enumerate(self.ages.tolist()):
            self.open[:, p, last:] = 0.0
        self.round += 1
        self.asked *= self.lending.memory
        self.offered *= self.lending.memory
        if self.round == self.issued.shape[2]:  # twice the room, for further rounds
            self.issued = np.concatenate([self.issued, np.zeros_like(self.issued)], axis=2)
            for name in BY_VINTAGE:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    # ----------------------------------------------------------------------- categories

    def grow(self, number: int) -> None:
        """Append categories without loans."""
        for name in (*BY_AGE, "issued", *TODAY):
            old = getattr(self, name)
            added = np.zeros((number, *old.shape[1:]))
            setattr(self, name, np.concatenate([old, added]))

    def drop(self, k: int) -> None:
        """Forget a category; what was learnt of its loans by vintage stays."""
        for name in (*BY_AGE, "issued", *TODAY):
            setattr(self, name, np.delete(getattr(self, name), k, axis=0))

    # -------------------------------------------------------------------------- reading

    def read(self, thresholds: FloatArray) -> BookReading:
        """Return what the book says, if a loan must have these values, [K]."""
        categories, products, size = self.at_risk.shape
        counts = Counts(
            self.at_risk, self.defaults, self.closings, self.issued[:, :, : self.round + 1]
        )
        today = Today(self.asked.copy(), self.offered.copy(), self.terms, self.ages)
        rates = Rates(
            np.zeros((products, size)),
            np.zeros((products, size)),
            np.zeros((categories, products)),
        )
        columns, frailty = np.zeros((len(BookRow), categories)), hazards.MOST_FRAILTY
        columns[[BookRow.BREAK_EVEN, BookRow.VALUE]] = np.nan
        if products:
            frailty = hazards.learn(counts, today, rates)
            hazards.judge(counts, today, rates, coded(self.lending), frailty, thresholds, columns)
        return BookReading(self.lending, today, rates, frailty, columns)
