"""As of: which categories pay, as far as it was known at the ends of several rounds.

Both kinds of evidence are added up by the round in which clients asked, once.  A
bootstrap portfolio says how often each of these rounds counts, [R], and needs no client
again.

>>> from profitable.past.past import SingleClients
>>> months = np.repeat(np.arange(24), 2)
>>> clients = SingleClients.of(
...     names=("good", "bad"), labels=[str(each) for each in range(24)],
...     round=months + 1, category=[0, 1] * 24, known=months + 1, reward=[0.0] * 48,
...     profit=np.tile([3.0, -2.0], 24) + 0.5 * (months % 3 - 1),
... )
>>> known = SumsAsOf(clients, [16, 24])
>>> known.clients, known.open
((32.0, 48.0), (0.0, 0.0))
>>> other = np.repeat(np.arange(0, 24, 2), 2)  # each other round, twice
>>> (known.pays(0, np.array([np.arange(24), other])) < 0.05).tolist()
[[False, True], [False, True]]
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from profitable.advice.block_bootstrap import times
from profitable.advice.judged import BY_BETS, BY_PERIODS, pays_by
from profitable.advice.outcomes import Outcomes, furthest
from profitable.advice.stop_list import probabilities
from profitable.agent.loan_book import LoanBook
from profitable.common.types import FloatArray, IntArray
from profitable.model.lending import Lending
from profitable.past.past import NEVER_KNOWN, PastClients, SingleClients
from profitable.past.past_loans import LoanCells, last_round

MOST_SIDE_BY_SIDE = 1_000_000  # rounds times categories times portfolios


class AsOf(ABC):
    """What was known at the ends of several rounds, [S]."""

    clients: tuple[float, ...]  # who counted, [S]
    open: tuple[float, ...]  # who had asked and did not, [S]
    mature: tuple[int, ...]  # the last round that counted, [S]

    @abstractmethod
    def pays(self, place: int, rounds: IntArray) -> FloatArray:
        """Return the probability that each category pays, [B, K].

        `rounds` [B, R] says which round, from 0, is at each place of each bootstrap
        portfolio.  It is NaN where nothing can be said.
        """


class SumsAsOf(AsOf):
    """Outcomes of mature rounds; at the end None, all outcomes of the file."""

    def __init__(
        self,
        clients: PastClients,
        ends: Sequence[int | None],
        *,
        how: str = BY_PERIODS,
        matures: int | None = None,
        still_open: IntArray | None = None,
    ) -> None:
        self.how = how
        self.ends = [clients.rounds if end is None else end for end in ends]
        self.outcomes = [
            Outcomes.of(
                clients,
                until=end,
                matures=None if end is None else matures,
                still_open=still_open,
            )
            for end in ends
        ]
        self.all = Outcomes.of(clients)
        self.most = [_most_by_round(clients, end) for end in ends]
        self.clients = tuple(float(each.clients.sum()) for each in self.outcomes)
        self.open = tuple(float(each.open.sum()) for each in self.outcomes)
        self.mature = tuple(each.mature for each in self.outcomes)

    def pays(self, place: int, rounds: IntArray) -> FloatArray:
        """Test the mature rounds.

        A round that is there in place of a mature one counts with all its outcomes.
        """
        found, rows = self.outcomes[place], rounds[:, : self.outcomes[place].mature]
        if not found.mature:  # nothing can be said
            return np.full((len(rows), len(found.names)), np.nan)
        is_mature = (np.arange(len(found.clients)) < found.mature)[:, np.newaxis]
        clients = np.where(is_mature, found.clients, self.all.clients)
        profit = np.where(is_mature, found.profit, self.all.profit)
        if self.how == BY_BETS:
            one_by_one = (replace(found, clients=clients[r], profit=profit[r]) for r in rows)
            return np.array([probabilities(each, self.how) for each in one_by_one])
        # Portfolios are tested side by side, as if the categories of each were others.
        size, step = len(found.names), max(MOST_SIDE_BY_SIDE // max(clients.size, 1), 1)
        parts: list[FloatArray] = []
        for first in range(0, len(rows), step):
            drawn = rounds[first : first + step]
            some = drawn[:, : found.mature].T
            # The largest profit is in all tests of a portfolio, and varies, too.
            most = self.most[place][drawn[:, : self.ends[place]]].max(axis=1, initial=-math.inf)
            side_by_side = replace(
                found,
                clients=clients[some].reshape(found.mature, -1),
                profit=profit[some].reshape(found.mature, -1),
            )
            each = probabilities(side_by_side, self.how, np.repeat(most, size))
            parts.append(each.reshape(-1, size))
        return np.concatenate(parts)


def _most_by_round(clients: PastClients, end: int | None) -> FloatArray:
    """Return the largest profit of a client known by then who asked in a round, [R]."""
    known = clients.known <= (NEVER_KNOWN if end is None else end)
    known = known & (clients.sum_of("number") > 0.0)
    if clients.logged is not None:
        known = known & clients.logged
    found = np.full(clients.rounds, -math.inf)
    np.maximum.at(found, clients.round[known] - 1, furthest(clients)[0][known])
    return found


class BooksAsOf(AsOf):
    """Lending books with the loans and the ends that were known; at None, all of them.

    A book is linear in its loans.  So it is added up by the round that issued them: how
    many left the book at each age, by default or otherwise, and who asked.
    """

    def __init__(
        self, clients: SingleClients, given: Sequence[int | None], lending: Lending
    ) -> None:
        cells = LoanCells.of(clients, None)
        ends = [last_round(clients) if end is None else end for end in given]
        self.lending, self.terms, self.number = lending, cells.terms, cells.number
        self.rates, self.ends = cells.rates, ends
        self.mature = tuple(ends)
        self.ages = int(lending.ages(cells.terms)[-1])
        self.last: IntArray = lending.ages(cells.terms)  # ages of each product, [P]
        self.events = [self._events(clients, end) for end in ends]  # of each end
        asked = [cells.number[:end].sum() for end in ends]
        self.open = tuple(
            float(((clients.round <= end) & (clients.known > end)).sum()) for end in ends
        )
        self.clients = tuple(
            float(total) - still for total, still in zip(asked, self.open, strict=True)
        )

    def _events(self, clients: SingleClients, end: int) -> "_Events":
        """Count loans by round of issue, category, product and age of leaving."""
        assert clients.term is not None
        assert clients.defaulted is not None
        shape = (*self.number.shape, self.ages + 1)  # the last one is for greater ages
        asked = np.flatnonzero(clients.round <= end)
        round, known = clients.round[asked].astype(np.int64), clients.known[asked]
        ended = (known <= end) & (known != NEVER_KNOWN)
        age = np.where(ended, known, end) - round
        products = np.searchsorted(self.terms, clients.term[asked])
        where = round - 1, clients.category[asked], products, np.clip(age, 0, self.ages)
        cells, place = np.unique(np.ravel_multi_index(where, shape), return_inverse=True)
        defaulted = clients.defaulted[asked]
        # A book does not look at later ages of its products: who leaves then, leaves
        # after all of them.
        seen = ended & (age < self.last[products])
        number, defaults, closings = (
            np.bincount(place, chosen, cells.size).astype(np.float64)
            for chosen in (np.ones(asked.size), seen & defaulted, seen & ~defaulted)
        )
        issued, cells = np.divmod(cells, int(np.prod(shape[1:])))
        return _Events(issued, cells, number, defaults, closings)

    def book(self, place: int, weights: IntArray) -> LoanBook:
        """Return the book at the end of a round, if rounds count so often, [R]."""
        end, (rounds, categories, products) = self.ends[place], self.number.shape
        often = weights.astype(np.float64)
        often[end:] = 0.0
        some = min(end, rounds)
        size = categories, products, self.ages + 1
        left, defaults, closings = (
            each.reshape(size) for each in self.events[place].added(often, int(np.prod(size)))
        )
        # A book knows a product from the round on in which somebody asks for it.
        known = np.flatnonzero(self.number[:some].sum(axis=(0, 1)))
        last = self.last[known]
        ages = int(last.max(initial=0))
        book = LoanBook(self.lending, categories, keeps_vintages=False)
        book.terms, book.round = self.terms[known], end
        at_risk = np.cumsum(left[..., ::-1], axis=2)[..., ::-1]
        at_risk = at_risk * (np.arange(self.ages + 1) < self.last[:, np.newaxis])
        book.at_risk, book.defaults, book.closings = (
            np.ascontiguousarray(each[:, known, :ages]) for each in (at_risk, defaults, closings)
        )
        book.open = np.zeros_like(book.at_risk)
        book.issued = np.zeros((categories, known.size, end + 1))
        issued = often[:some, np.newaxis, np.newaxis] * self.number[:some][:, :, known]
        book.issued[:, :, 1 : some + 1] = issued.transpose(1, 2, 0)
        book.ended = np.zeros_like(book.issued)
        fading = often[:some] * self.lending.memory ** (end - 1.0 - np.arange(some))
        book.asked, book.offered = (
            _added(fading, each[:some][:, :, known]) for each in (self.number, self.rates)
        )
        return book

    def pays(self, place: int, rounds: IntArray) -> FloatArray:
        """Read the books; rounds count as often as they are there, at their own age."""
        found = np.empty((len(rounds), self.number.shape[1]))
        for row, each in zip(found, times(rounds, rounds.shape[1]), strict=True):
            row[:] = pays_by(self.book(place, each).read(np.ones(row.size)))
        return found


def _added(weights: FloatArray, tables: FloatArray) -> FloatArray:
    """Add up tables by round [R, ...], each with its weight."""
    return (weights @ tables.reshape(weights.size, -1)).reshape(tables.shape[1:])


class _Events(NamedTuple):
    """Loans that left a book, by cell of issue and leaving, [m]."""

    issued: IntArray  # the round, from 0
    cells: IntArray  # category, product and age, flat
    number: FloatArray
    defaults: FloatArray
    closings: FloatArray

    def added(self, weights: FloatArray, size: int) -> tuple[FloatArray, ...]:
        """Add up those of all rounds of issue, each with its weight [R]."""
        times = weights[self.issued]
        return tuple(
            np.bincount(self.cells, times * each, size).astype(np.float64)
            for each in (self.number, self.defaults, self.closings)
        )
