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

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from profitable.agent.cohorts import accepted_round
from profitable.common import check
from profitable.common.text_tables import number_text
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import ParameterError
from profitable.kernels import hazards
from profitable.kernels.hazards import BookRow, Counts, LendingTerms, Rates, Today
from profitable.model.category import Category
from profitable.model.lending import LARGEST_RATE, LONGEST_TERM, Lending
from profitable.policy.policies import Policy

LEAST_MEMORY = 1e-100  # what is remembered of clients who asked fades to that, not to 0
LEARNED = "learned"  # how the outcomes of loans emerge
POLICIES = ("kl-ucb", "bayes-ucb", "optimal")  # that can judge a book
BY_AGE = ("open", "at_risk", "defaults", "closings")  # [K, P, J]
BY_ROUND = ("issued", "ended")  # [K, P, S]
BY_VINTAGE = ("vintage_risk", "vintage_defaults")  # [S, P, J]
TODAY = ("asked", "offered")  # [K, P]
# Columns of a stored decision: what a book says, loans accepted, and those open.
SUMMARY_NAMES = [
    f"book_{name}" for name in (*(row.name.lower() for row in BookRow), "issued", "open")
]
MOST_PENDING = 256  # events that are kept apart before they are added up


def check_policy(policy: Policy) -> None:
    """ParameterError for a policy that cannot judge a lending book."""
    remedy = "choose bayes-ucb, optimal or kl-ucb"
    if policy.draws:
        problem = "loses money on loans: it gives up on bad vintages by chance"
    elif policy.name not in POLICIES:
        problem = "needs rewards, and a lending book has only defaults and closings"
    elif policy.forgets:
        problem, remedy = "cannot forget loans", "leave forget and window out, and give level="
    elif getattr(policy, "prior", None) is not None:
        problem, remedy = "has a prior of rewards", "leave it out: categories are compared"
    else:
        return
    raise ParameterError("policy", str(policy), problem, remedy)


def check_category(category: Category) -> None:
    """ParameterError for a category whose loans cannot be valued by a schedule."""
    if category.weight is None or category.prior is not None:
        raise ParameterError(
            "category",
            category.name,
            "is not one of loans whose value follows from a schedule",
            "make it with Category.returns(name), without a prior",
        )


@dataclass(frozen=True, slots=True)
class LoanStanding:
    """What a lending book says of one category.

    Attributes
    ----------
    issued : int
        Loans that were accepted.
    defaults : int
        Those of them that are known to have defaulted.
    exposure : float
        The defaults that as many loans of the book as a whole would have by now.
    affordable : float or None
        The defaults by now at which the category breaks even; infinite if it always
        pays, None if it is not known what its clients ask for.
    multiplier : float or None
        defaults / exposure; None without exposure.
    break_even : float or None
        The multiplier at which a loan on today's terms is worth its threshold: 0 if it
        never is, infinite if it always is, None if nobody has asked.
    pays : float
        Probability that the category pays.
    unseen : float
        Share of a loan's defaults that are expected at ages no loan has reached.
    level : float
        What is uncertain of the common level of defaults: a standard deviation of its
        logarithm.

    All of it is as if the present round were over, as at the next decision.
    """

    issued: int
    defaults: int
    exposure: float
    affordable: float | None
    multiplier: float | None
    break_even: float | None
    pays: float
    unseen: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values; infinite numbers become None."""
        return {key: None if value == math.inf else value for key, value in asdict(self).items()}

    def sentence(self) -> str:
        """Return the numbers in words.

        Examples
        --------
        >>> cars = LoanStanding(1900, 189, 100.0, 90.0, 1.89, 0.9, 0.0081, 0.38, 0.3)
        >>> for part in cars.sentence().split("; "):
        ...     print(part)
        189 of 1 900 defaulted
        it could afford 90 by now
        multiplier 1.89 against a break-even of 0.9
        P(pays) 0.81 %
        38 % of the curve is extrapolated
        """
        parts = [f"{number_text(self.defaults)} of {number_text(self.issued)} defaulted"]
        if self.break_even is None or self.affordable is None:
            parts.append("nobody has asked for its loans yet")
        elif self.break_even == 0.0:
            parts.append("it never pays: at today's rates not even without defaults")
        elif self.break_even == math.inf:
            parts.append("it always pays: at today's rates whatever defaults")
        elif self.multiplier is None:
            parts.append("so far no loan of the book could have defaulted")
        else:
            parts.append(f"it could afford {number_text(self.affordable, 3)} by now")
            parts.append(
                f"multiplier {number_text(self.multiplier, 3)} against a break-even of "
                f"{number_text(self.break_even, 3)}"
            )
            parts.append(f"P(pays) {_percent(self.pays)}")
        if self.unseen > 0.0:
            parts.append(f"{_percent(self.unseen)} of the curve is extrapolated")
        return "; ".join(parts)


def _percent(share: float) -> str:
    return "more than 99 %" if share > 0.99 else f"{number_text(100.0 * share, 2)} %"


@dataclass(frozen=True, eq=False)
class Loans:
    """Loans of one category, one term and one round each, [M]."""

    positions: IntArray
    terms: IntArray
    accepted_in: IntArray

    @classmethod
    def of(
        cls, positions: npt.ArrayLike, terms: npt.ArrayLike, accepted_in: npt.ArrayLike
    ) -> "Loans":
        """Return loans from any whole numbers, such as lists."""
        return cls(*(np.asarray(each, np.int64) for each in (positions, terms, accepted_in)))

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, np.asarray(getattr(self, each.name), np.int64))


@dataclass(frozen=True, slots=True)
class LoanTerms:
    """What a caller says of accepted loans, or of loans that ended."""

    term: object = None
    rate: object = None
    accepted_in: object = None

    def read_term(self) -> int:
        """Return the term, checked."""
        if self.term is None:
            raise ParameterError(
                "term", None, "is missing", "give the number of rounds over which it is repaid"
            )
        return check.whole("term", self.term, most=LONGEST_TERM)

    def read_rate(self) -> float | None:
        """Return the rate a year, checked; None if it is not given."""
        if self.rate is None:
            return None
        rate = check.not_negative("rate", self.rate, "give a fraction: 0.12 for 12 %")
        if rate > LARGEST_RATE:
            raise ParameterError(
                "rate", self.rate, "looks like percent", "give a fraction: 0.12 for 12 %"
            )
        return rate

    def read_round(self, round: int) -> int:
        """Return the round that accepted them, checked; the latest unless given."""
        return round if self.accepted_in is None else accepted_round(self.accepted_in, round)


@dataclass(frozen=True, eq=False)
class VintageEvents:
    """Loans that were at risk, or defaulted, at an age, [M]; less than 0 takes back."""

    loans: Loans
    ages: IntArray
    at_risk: FloatArray
    defaulted: FloatArray

    @classmethod
    def joined(cls, events: Sequence["VintageEvents"]) -> "VintageEvents":
        """Return events added up by loans and age, in an order of their own."""
        keys = np.hstack(
            [
                (each.loans.positions, each.loans.terms, each.loans.accepted_in, each.ages)
                for each in events
            ]
        )
        found, place = np.unique(keys, axis=1, return_inverse=True)
        numbers = np.zeros((2, found.shape[1]))
        np.add.at(numbers[0], place.ravel(), np.concatenate([each.at_risk for each in events]))
        np.add.at(numbers[1], place.ravel(), np.concatenate([each.defaulted for each in events]))
        everything = cls(Loans(*found[:3]), found[3], *numbers)
        return everything.of((numbers[0] != 0.0) | (numbers[1] != 0.0))

    def of(self, chosen: BoolArray) -> "VintageEvents":
        """Return some of them."""
        loans = self.loans
        return VintageEvents(
            Loans(loans.positions[chosen], loans.terms[chosen], loans.accepted_in[chosen]),
            self.ages[chosen],
            self.at_risk[chosen],
            self.defaulted[chosen],
        )


@dataclass(frozen=True, eq=False)
class BookSummary:
    """What a book says of its categories, as decisions keep it; it never changes."""

    columns: FloatArray  # [BookRow, K]
    issued: FloatArray  # loans that were accepted, [K]
    open: FloatArray  # those that are open, [K]

    def __getitem__(self, row: BookRow) -> FloatArray:
        return self.columns[row]

    @classmethod
    def recorded(cls, columns: Mapping[str, Sequence[Any]], places: IntArray, size: int) -> Self:
        """Return the summary of a stored decision about some of `size` categories."""
        rows = np.full((len(SUMMARY_NAMES), size), np.nan)
        rows[:, places] = [columns[name] for name in SUMMARY_NAMES]
        return cls(rows[: len(BookRow)], *rows[len(BookRow) :])

    def record(self, positions: IntArray) -> dict[str, FloatArray]:
        """Return the columns of some categories for a stored decision, [M] each."""
        rows = np.vstack([self.columns, self.issued, self.open])[:, positions]
        return dict(zip(SUMMARY_NAMES, rows, strict=True))

    def standing(self, k: int) -> "LoanStanding":
        """Return what the book says of a category."""
        column = dict(zip(BookRow, self.columns[:, k].tolist(), strict=True))
        exposure, limit, life = (
            column[row] for row in (BookRow.EXPOSURE, BookRow.BREAK_EVEN, BookRow.LIFE)
        )
        return LoanStanding(
            issued=int(self.issued[k]),
            defaults=int(column[BookRow.DEFAULTS]),
            exposure=exposure,
            affordable=None
            if math.isnan(limit)
            else limit
            if limit == math.inf
            else limit * exposure,
            multiplier=column[BookRow.DEFAULTS] / exposure if exposure > 0.0 else None,
            break_even=None if math.isnan(limit) else limit,
            pays=math.exp(-column[BookRow.POSTERIOR]),
            unseen=column[BookRow.UNSEEN] / life if life > 0.0 else 0.0,
            level=column[BookRow.LEVEL],
        )

    def open_and_missing(self, positions: IntArray, waiting: list[int]) -> dict[str, list[int]]:
        """Return open loans of some categories, and those too old to be open, [M]."""
        still = self.open[positions].astype(np.int64).tolist()
        return {"open": still, "missing": [int(a) - b for a, b in zip(waiting, still, strict=True)]}


@dataclass(frozen=True, eq=False)
class BookReading(BookSummary):
    """The same, with all that it follows from."""

    lending: Lending
    today: Today
    rates: Rates
    frailty: float  # variance of the multipliers between categories

    def interval(self, k: int, tail: float) -> tuple[float, float] | None:
        """Return values of a loan that the posterior exceeds with 1 - tail, and tail.

        None if nobody has asked for loans of the category, or none could default.
        """
        if math.isnan(self[BookRow.BREAK_EVEN][k]) or not self[BookRow.EXPOSURE][k]:
            return None
        nats = np.full((2, self.issued.size), np.inf)
        nats[:, k] = -math.log1p(-tail), -math.log(tail) if tail > 0.0 else math.inf
        low, high = (self.indices(each, is_posterior=True)[k].item() for each in nats)
        return low, high

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

    def __init__(
        self, lending: Lending, categories: int = 0, *, keeps_vintages: bool = True
    ) -> None:
        self.lending, self.keeps_vintages = lending, keeps_vintages
        self.round = 0  # rounds that have passed
        self.terms: IntArray = np.empty(0, np.int64)  # of the products, ascending
        empty = (categories, 0, 0)
        self.open, self.at_risk = np.zeros(empty), np.zeros(empty)
        self.defaults, self.closings = np.zeros(empty), np.zeros(empty)
        # Loans by the round that accepted them, and those that ended, [K, P, S].
        self.issued, self.ended = np.zeros((2, categories, 0, 1))
        # Of all categories, by the round that accepted them, [S, P, J].
        self.vintage_risk, self.vintage_defaults = np.zeros((1, 0, 0)), np.zeros((1, 0, 0))
        # What is not yet in them: ends of loans since the last round passed.
        self.pending: list[VintageEvents] = []
        # Clients who asked, and the sum of their rates a year; both fade.
        self.asked, self.offered = np.zeros((categories, 0)), np.zeros((categories, 0))

    @property
    def ages(self) -> IntArray:
        """Number of ages at which loans of each product are looked at, [P]."""
        return self.lending.ages(self.terms)

    def products(self, terms: IntArray) -> IntArray:
        """Return the positions of products; new ones are added."""
        places = np.searchsorted(self.terms, terms)
        known = self.terms.take(places, mode="clip") if self.terms.size else self.terms
        if np.array_equal(known, terms):
            return places
        self._add_products(np.union1d(self.terms, terms))
        return np.searchsorted(self.terms, terms)

    def _add_products(self, terms: IntArray) -> None:
        places, size = np.searchsorted(terms, self.terms), int(self.lending.ages(terms)[-1])
        for name in (*BY_AGE, *BY_VINTAGE, *BY_ROUND, *TODAY):
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
        ended = np.asarray(defaulted + closed, np.float64)
        for counts, number in (
            (self.defaults, defaulted),
            (self.closings, closed),
            (self.at_risk, ended),
        ):
            np.add.at(counts, where, number[seen])
        np.add.at(self.ended, (loans.positions, products, loans.accepted_in), ended)
        self._note(loans, seen, ages, ended, defaulted)
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
            spent = np.arange(int(since[i]), int(min(now[i], ages[i])))
            self.at_risk[k, p, spent] += number[i]
            again = Loans(*(np.full(spent.size, each) for each in (k, self.terms[p], vintage)))
            risk = np.full(spent.size, number[i])
            self._note(again, np.full(spent.size, True), spent, risk, np.zeros(spent.size))

    def _note(
        self,
        loans: Loans,
        seen: BoolArray,
        ages: IntArray,
        at_risk: FloatArray,
        defaulted: FloatArray,
    ) -> None:
        """Note for the vintages how many loans were at risk, and defaulted, at ages."""
        if self.keeps_vintages and seen.any():
            defaulted = np.asarray(defaulted, np.float64)
            self.pending.append(VintageEvents(loans, ages, at_risk, defaulted).of(seen))
            if len(self.pending) > MOST_PENDING:
                self.pending = [VintageEvents.joined(self.pending)]

    def vintages(self) -> tuple[FloatArray, FloatArray]:
        """Return loans at risk and defaults by round of acceptance, [S, P, J]."""
        found = self.vintage_risk.copy(), self.vintage_defaults.copy()
        for each in self.pending:
            products = np.searchsorted(self.terms, each.loans.terms)
            where = each.loans.accepted_in, products, each.ages
            np.add.at(found[0], where, each.at_risk)
            np.add.at(found[1], where, each.defaulted)
        return found

    def advance(self) -> None:
        """Let a round pass: loans that stayed open were at risk, and grow older."""
        self.at_risk += self.open
        size = min(self.round + 1, self.open.shape[2])
        ages = np.arange(size)
        if self.keeps_vintages:
            self.vintage_risk, self.vintage_defaults = self.vintages()
            self.pending = []
            self.vintage_risk[self.round - ages, :, ages] += self.open.sum(axis=0)[:, :size].T
        self.open[:, :, 1:] = self.open[:, :, :-1]
        self.open[:, :, :1] = 0.0
        for p, last in enumerate(self.ages.tolist()):
            self.open[:, p, last:] = 0.0
        self.round += 1
        fades = self.asked.sum(axis=1) > LEAST_MEMORY
        self.asked[fades] *= self.lending.memory
        self.offered[fades] *= self.lending.memory
        if self.round == self.issued.shape[2]:  # twice the room, for further rounds
            for name in BY_ROUND:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=2))
            for name in BY_VINTAGE:
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    # ----------------------------------------------------------------------- categories

    def grow(self, number: int) -> None:
        """Append categories without loans."""
        for name in (*BY_AGE, *BY_ROUND, *TODAY):
            old = getattr(self, name)
            added = np.zeros((number, *old.shape[1:]))
            setattr(self, name, np.concatenate([old, added]))

    def drop(self, k: int) -> None:
        """Forget a category; what was learnt of its loans by vintage stays."""
        for name in (*BY_AGE, *BY_ROUND, *TODAY):
            setattr(self, name, np.delete(getattr(self, name), k, axis=0))

    def forget(self, k: int) -> None:
        """Forget the loans of a category, which are about to be put back."""
        for name in (*BY_AGE, *BY_ROUND, *TODAY):
            getattr(self, name)[k] = 0.0
        self.pending = [
            each.of(each.loans.positions != k)
            for each in self.pending
            if (each.loans.positions != k).any()
        ]

    def start_after(self, round: int) -> None:
        """Set the number of rounds that have passed, in a book without loans."""
        self.round = round
        for name in BY_ROUND:
            old = getattr(self, name)
            setattr(self, name, np.zeros((*old.shape[:2], round + 1)))
        for name in BY_VINTAGE:
            old = getattr(self, name)
            setattr(self, name, np.zeros((round + 1, *old.shape[1:])))

    # -------------------------------------------------------------------------- looking

    def is_quoted(self, k: int, term: int) -> bool:
        """Whether it is known at which rate a category gets loans of a term."""
        product = np.flatnonzero(self.terms == term)
        return product.size > 0 and self.asked[k, product[0]] > 0.0

    def find(self, k: int, accepted_in: object, term: object) -> Loans:
        """Return the loans that a caller means; ParameterError if there are none.

        The term may be left out where the category has one product only.
        """
        if accepted_in is None:
            raise ParameterError(
                "accepted_in", None, "is missing", "give the round that accepted the loans"
            )
        round = accepted_round(accepted_in, self.round)
        issued = np.flatnonzero(self.issued[k, :, round])
        given = LoanTerms(term).read_term() if term is not None or issued.size != 1 else None
        chosen = self.terms[issued[0]] if given is None else given
        if chosen not in self.terms[issued]:
            known = ", ".join(map(str, self.terms[issued].tolist())) or "none"
            raise ParameterError(
                "accepted_in" if not issued.size else "term",
                accepted_in if not issued.size else term,
                f"has no such loans (terms accepted in round {round}: {known})",
                "say first who was accepted, with expect(..., term=)",
            )
        return Loans(*(np.array([each]) for each in (k, chosen, round)))

    def still_open(self, loans: Loans) -> int:
        """Return how many of the loans of one category, term and round are open."""
        where = loans.positions, self.products(loans.terms), loans.accepted_in
        return int((self.issued[where] - self.ended[where])[0])

    def ended_in(self, loans: Loans, round: int) -> tuple[float, float]:
        """Return how many of the loans can have ended in a round.

        All are of one category, term and round.  The first number is that of defaults,
        the second that of closings.  Loans of other rounds that ended at the same age
        are counted with them, and beyond the last age nobody counts how loans ended.
        """
        k, product = loans.positions[0], self.products(loans.terms)[0]
        vintage, age = loans.accepted_in[0], round - int(loans.accepted_in[0])
        if age < 0:
            return 0.0, 0.0
        most = float(self.ended[k, product, vintage])
        if age >= self.ages[product]:
            return most, most
        defaults, closings = self.defaults[k, product, age], self.closings[k, product, age]
        return min(float(defaults), most), min(float(closings), most)

    # -------------------------------------------------------------------------- reading

    def read(self, thresholds: FloatArray) -> BookReading:
        """Return what the book says, if a loan must have these values, [K].

        All ends of loans in this round are known, so those that are open were at risk.
        """
        categories, products, size = self.at_risk.shape
        # The round is over: loans that are open now were at risk in it, too.  Without
        # them, the defaults of the last round would have no exposure.
        counts = Counts(
            self.at_risk + self.open,
            self.defaults,
            self.closings,
            self.issued[:, :, : self.round + 1],
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
        return BookReading(
            columns,
            self.issued.sum(axis=(1, 2)),
            self.open.sum(axis=(1, 2)),
            self.lending,
            today,
            rates,
            frailty,
        )
