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
>>> once, twice = [1] * 24, [2, 0] * 12
>>> (known.pays(0, np.array([once, twice])) < 0.05).tolist()
[[False, True], [False, True]]
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from profitable.advice.judged import BY_PERIODS
from profitable.advice.outcomes import Outcomes
from profitable.advice.stop_list import probabilities
from profitable.agent.loan_book import LoanBook
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.hazards import BookRow
from profitable.model.lending import Lending
from profitable.past.past import NEVER_KNOWN, PastClients, SingleClients
from profitable.past.past_loans import LoanCells, last_round

MOST_SIDE_BY_SIDE = 1_000_000  # rounds times categories times portfolios


class AsOf(ABC):
    """What was known at the ends of several rounds, [S]."""

    clients: tuple[float, ...]  # who counted, [S]
    open: tuple[float, ...]  # who had asked and did not, [S]

    @abstractmethod
    def pays(self, place: int, times: IntArray) -> FloatArray:
        """Return the probability that each category pays, [B, K].

        `times` [B, R] says how often each round counts in each bootstrap portfolio.  It
        is NaN where nothing can be said.
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
        still_open: FloatArray | None = None,
    ) -> None:
        self.how = how
        self.outcomes = [
            Outcomes.of(
                clients,
                until=end,
                matures=None if end is None else matures,
                still_open=still_open,
            )
            for end in ends
        ]
        self.clients = tuple(float(each.clients.sum()) for each in self.outcomes)
        self.open = tuple(float(each.open.sum()) for each in self.outcomes)

    def pays(self, place: int, times: IntArray) -> FloatArray:
        """Test the mature rounds, each as often as it counts."""
        found = self.outcomes[place]
        times = times[:, : found.mature]
        if self.how != BY_PERIODS:
            return np.array(
                [probabilities(self._repeated(place, each), self.how) for each in times]
            )
        # Periods only add rounds up.  So portfolios are tested side by side, as if the
        # categories of each were others.
        size, step = len(found.names), max(MOST_SIDE_BY_SIDE // max(found.clients.size, 1), 1)
        parts: list[FloatArray] = []
        for first in range(0, len(times), step):
            some = times[first : first + step].T[:, :, np.newaxis]
            clients, profit = (
                (each[: found.mature, np.newaxis] * some).reshape(found.mature, -1)
                for each in (found.clients, found.profit)
            )
            side_by_side = replace(found, clients=clients, profit=profit)
            parts.append(probabilities(side_by_side).reshape(-1, size))
        return np.concatenate(parts)

    def _repeated(self, place: int, times: IntArray) -> Outcomes:
        """Return mature rounds, each so often: one that counts twice is two rounds."""
        found, rows = self.outcomes[place], np.repeat(np.arange(times.size), times)
        return replace(
            found,
            labels=tuple(found.labels[row] for row in rows.tolist()),
            clients=found.clients[rows],
            profit=found.profit[rows],
            open=found.open[rows],
            mature=rows.size,
            amount=None if found.amount is None else found.amount[rows],
        )


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
        self.ages = int(lending.ages(cells.terms)[-1])
        self.last = lending.ages(cells.terms)  # ages of each product, [P]
        self.left, self.defaults, self.closings = map(
            list, zip(*(self._events(clients, end) for end in ends), strict=True)
        )
        asked = [cells.number[:end].sum() for end in ends]
        self.open = tuple(
            float(((clients.round <= end) & (clients.known > end)).sum()) for end in ends
        )
        self.clients = tuple(
            float(total) - still for total, still in zip(asked, self.open, strict=True)
        )

    def _events(self, clients: SingleClients, end: int) -> tuple[FloatArray, ...]:
        """Count loans that left the book at each age, defaults and closings.

        All are [R, K, P, J].
        """
        assert clients.term is not None
        assert clients.defaulted is not None
        shape = (*self.number.shape, self.ages + 1)  # the last one is for greater ages
        asked = clients.round <= end
        ended = asked & (clients.known <= end) & (clients.known != NEVER_KNOWN)
        age = np.where(ended, clients.known, end) - clients.round
        products = np.searchsorted(self.terms, clients.term)
        where = clients.round - 1, clients.category, products, np.clip(age, 0, self.ages)
        place = np.ravel_multi_index(where, shape)

        def count(chosen: FloatArray) -> FloatArray:
            found = np.bincount(place, chosen, int(np.prod(shape))).reshape(shape)
            return found.astype(np.float64)

        # A book does not look at later ages of its products: who leaves then, leaves
        # after all of them.
        seen = ended & (age < self.last[products])
        return (
            count(asked.astype(np.float64)),
            count((seen & clients.defaulted).astype(np.float64)),
            count((seen & ~clients.defaulted).astype(np.float64)),
        )

    def book(self, place: int, times: IntArray) -> LoanBook:
        """Return the book at the end of a round, as it is read."""
        end, (rounds, categories, _) = self.ends[place], self.number.shape
        weights = np.where(np.arange(rounds) < end, times, 0).astype(np.float64)
        some = min(end, rounds)
        left, defaults, closings = (
            np.tensordot(weights, each[place], 1)
            for each in (self.left, self.defaults, self.closings)
        )
        # A book knows a product from the round on in which somebody asks for it.
        known = np.flatnonzero(self.number[:some].sum(axis=(0, 1)))
        last = self.last[known]
        size = int(last.max(initial=0))
        book = LoanBook(self.lending, categories, keeps_vintages=False)
        book.terms, book.round = self.terms[known], end
        at_risk = np.cumsum(left[..., ::-1], axis=2)[..., ::-1]
        looked_at = np.arange(self.ages + 1) < self.last[:, np.newaxis]
        book.at_risk, book.defaults, book.closings = (
            np.ascontiguousarray(each[:, known, :size])
            for each in (np.where(looked_at, at_risk, 0.0), defaults, closings)
        )
        book.open = np.zeros_like(book.at_risk)
        book.issued = np.zeros((categories, known.size, end + 1))
        issued = weights[:some, np.newaxis, np.newaxis] * self.number[:some][:, :, known]
        book.issued[:, :, 1 : some + 1] = issued.transpose(1, 2, 0)
        book.ended = np.zeros_like(book.issued)
        fading = weights[:some] * self.lending.memory ** (end - 1.0 - np.arange(some))
        book.asked, book.offered = (
            np.tensordot(fading, each[:some][:, :, known], 1) for each in (self.number, self.rates)
        )
        return book

    def pays(self, place: int, times: IntArray) -> FloatArray:
        """Read the books of these loans."""
        found = np.empty((len(times), self.number.shape[1]))
        for row, each in zip(found, times, strict=True):
            reading = self.book(place, each).read(np.ones(row.size))
            says = (reading[BookRow.EXPOSURE] > 0.0) & ~np.isnan(reading[BookRow.BREAK_EVEN])
            row[:] = np.where(says, np.exp(-reading[BookRow.POSTERIOR]), math.nan)
        return found
