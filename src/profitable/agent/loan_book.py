"""LoanBook: the loans of an agent, counted by category, product and age.

A *product* is a term.  A loan that was accepted in round t has the age r - t in round
r.  In each round it is at risk, and then it defaults, it closes, or it stays open.  No
loan is kept by itself: the book has counts only.

Example: 40 loans over 36 rounds are accepted in round 1.  In round 3 one defaults, so 40
were at risk at the ages 0 and 1, and 39 stay open.

>>> book = LoanBook(Lending(), 1)
>>> book.add(np.array([0]), np.array([36]), np.array([40.0]), accepted_in=np.array([0]))
>>> book.advance(), book.advance()
(None, None)
>>> book.end(np.array([0]), np.array([36]), np.array([0]), np.array([1.0]), np.array([0.0]))
>>> book.at_risk[0, 0, :4].tolist(), book.open[0, 0, :4].tolist()
([40.0, 40.0, 1.0, 0.0], [0.0, 0.0, 39.0, 0.0])
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.kernels import hazards
from profitable.model.lending import Lending

COUNTS = ("open", "at_risk", "defaults", "closings")


@dataclass(frozen=True, eq=False)
class BookReading:
    """What a book says of its categories; it never changes."""

    terms: IntArray  # of the products, [P]
    hazards: FloatArray  # [P, J]
    closing_rates: FloatArray  # [P, J]
    frailty: float  # variance of the multipliers between categories
    defaults: FloatArray  # [K]
    exposure: FloatArray  # [K]
    break_even: FloatArray  # multiplier [K]; 0 never pays, infinity always
    shares: FloatArray  # of products among today's clients, [K, P]
    rates: FloatArray  # of today's clients a round, [K, P]
    life: FloatArray  # exposure of a whole loan, [K]
    unseen: FloatArray  # part of `life` at ages that nobody has reached, [K]
    level: FloatArray  # uncertainty of the common level, [K]
    evidence: FloatArray  # of kl-UCB, [K]
    posterior: FloatArray  # evidence of a posterior, [K]
    value: FloatArray  # of a loan per unit lent, at the multiplier seen, [K]


class LoanBook:
    """Loans by category, product and age, and what today's clients ask for."""

    def __init__(self, lending: Lending, categories: int) -> None:
        self.lending = lending
        self.round = 0
        self.terms: IntArray = np.empty(0, np.int64)
        shape = (categories, 0, 0)
        # Loans by category, product and age, [K, P, J].
        self.open, self.at_risk = np.zeros(shape), np.zeros(shape)
        self.defaults, self.closings = np.zeros(shape), np.zeros(shape)
        # Loans by category, product and the round that accepted them, [K, P, S].
        self.issued = np.zeros((categories, 0, 1))
        # Of all categories, by the round that accepted them, [S, P, J].
        self.vintage_risk, self.vintage_defaults = np.zeros((1, 0, 0)), np.zeros((1, 0, 0))
        # Clients who asked, faded, and the rates that they were offered, [K, P].
        self.asked, self.offered = np.zeros((categories, 0)), np.zeros((categories, 0))

    # ------------------------------------------------------------------------- products

    @property
    def ages(self) -> IntArray:
        """Number of ages of each product, [P]."""
        return self.terms + (self.lending.lag + 2)

    def products(self, terms: IntArray) -> IntArray:
        """Return the positions of products; those that are new are added."""
        new = np.setdiff1d(terms, self.terms)
        if new.size:
            self._with_products(np.union1d(self.terms, new))
        return np.searchsorted(self.terms, terms)

    def _with_products(self, terms: IntArray) -> None:
        places, size = np.searchsorted(terms, self.terms), int(terms.max()) + self.lending.lag + 2
        for name in (*COUNTS, "vintage_risk", "vintage_defaults"):
            old = getattr(self, name)
            grown = np.zeros((old.shape[0], terms.size, size))
            grown[:, places, : old.shape[2]] = old
            setattr(self, name, grown)
        for name in ("issued", "asked", "offered"):
            old = getattr(self, name)
            grown = np.zeros((old.shape[0], terms.size, *old.shape[2:]))
            grown[:, places] = old
            setattr(self, name, grown)
        self.terms = terms

    # --------------------------------------------------------------------------- events

    def quote(
        self, positions: IntArray, terms: IntArray, number: FloatArray, rates: FloatArray
    ) -> None:
        """Say who asks in the coming round, at which rate a year, [M] each."""
        products = self.products(terms)
        np.add.at(self.asked, (positions, products), number)
        np.add.at(self.offered, (positions, products), number * rates)

    def add(
        self, positions: IntArray, terms: IntArray, number: FloatArray, accepted_in: IntArray
    ) -> None:
        """Add accepted loans, [M]."""
        products = self.products(terms)
        ages = self.round - accepted_in
        kept = ages < self.ages[products]
        where = positions[kept], products[kept]
        np.add.at(self.open, (*where, ages[kept]), number[kept])
        np.add.at(self.issued, (positions, products, accepted_in), number)

    def end(
        self,
        positions: IntArray,
        terms: IntArray,
        accepted_in: IntArray,
        defaulted: FloatArray,
        closed: FloatArray,
    ) -> None:
        """Say how many loans defaulted or closed in this round, [M]."""
        products = self.products(terms)
        ages = self.round - accepted_in
        kept = ages < self.ages[products]
        where = positions[kept], products[kept], ages[kept]
        number = defaulted[kept] + closed[kept]
        np.add.at(self.defaults, where, defaulted[kept])
        np.add.at(self.closings, where, closed[kept])
        np.add.at(self.at_risk, where, number)
        np.add.at(self.open, where, -number)
        vintage = accepted_in[kept], products[kept], ages[kept]
        np.add.at(self.vintage_risk, vintage, number)
        np.add.at(self.vintage_defaults, vintage, defaulted[kept])

    def advance(self) -> None:
        """Let a round pass: open loans were at risk, and grow older."""
        self.at_risk += self.open
        together = self.open.sum(axis=0)
        for age in range(min(self.round + 1, self.open.shape[2])):
            self.vintage_risk[self.round - age, :, age] += together[:, age]
        self.open[:, :, 1:] = self.open[:, :, :-1]
        self.open[:, :, :1] = 0.0
        self.round += 1
        for p, ages in enumerate(self.ages.tolist()):
            self.open[:, p, ages:] = 0.0
        self.asked *= self.lending.memory
        self.offered *= self.lending.memory
        if self.round >= self.issued.shape[2]:
            for name in ("issued",):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=2))
            for name in ("vintage_risk", "vintage_defaults"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    # -------------------------------------------------------------------------- reading

    def read(self, thresholds: FloatArray) -> BookReading:
        """Return what the book says, against the value that a loan must have, [K]."""
        categories, products, size = self.at_risk.shape
        learnt, closing = np.zeros((2, products, size))
        exposures = np.zeros((categories, products))
        terms, ages = self.terms, self.ages
        frailty = 1.0
        if products:
            frailty = hazards.learn(
                self.at_risk, self.defaults, self.closings, terms, ages, learnt, closing, exposures
            )
        columns = np.zeros((len(hazards.BookRow), categories))
        lending = self.lending
        if products:
            hazards.judge(
                self.at_risk.sum(axis=0),
                self.defaults.sum(axis=(1, 2)),
                exposures,
                self.issued[:, :, : self.round + 1],
                self.asked,
                self.offered,
                terms,
                ages,
                learnt,
                closing,
                thresholds,
                np.array(
                    [
                        lending.discount,
                        lending.recovery,
                        lending.lag,
                        lending.per_year,
                        lending.level,
                        lending.cycle,
                        1.0 / frailty if lending.frailty else 0.0,
                    ]
                ),
                columns,
            )
        with np.errstate(invalid="ignore"):
            shares = self.asked / self.asked.sum(axis=1, keepdims=True)
            rates = self.offered / self.asked
        return BookReading(
            terms, learnt, closing, frailty, *columns[:3], shares, rates, *columns[3:]
        )
