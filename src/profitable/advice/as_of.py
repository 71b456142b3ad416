"""As of: which categories pay, as far as it was known at the ends of several rounds.

Both kinds of evidence are added up by the round in which clients asked, once.  A
bootstrap portfolio says how often each of these rounds counts, [R], and needs no client
again.

>>> from profitable.past.past import SingleClients
>>> months = np.arange(12)
>>> clients = SingleClients.of(
...     names=("good", "bad"), labels=[str(each + 1) for each in months],
...     round=np.repeat(months, 2) + 1, category=[0, 1] * 12,
...     known=np.repeat(months, 2) + 1, reward=[0.0] * 24,
...     profit=np.tile([1.0, -1.0], 12) + np.repeat(0.1 * (months % 3), 2),
... )
>>> known = SumsAsOf(clients, [8, 12])
>>> known.clients, known.open
((16.0, 24.0), (0.0, 0.0))
>>> [bool(p < 0.01) for p in known.pays(0)]
[False, True]
>>> bool(known.pays(0, np.array([2] * 4 + [0] * 8))[1] < 0.01)
True
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from profitable.advice.outcomes import Outcomes
from profitable.advice.stop_list import probabilities
from profitable.agent.loan_book import LoanBook
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.hazards import BookRow
from profitable.model.lending import Lending
from profitable.past.past import NEVER_KNOWN, PastClients, SingleClients
from profitable.past.past_loans import LoanCells


class AsOf(ABC):
    """What was known at the ends of several rounds, [S]."""

    clients: tuple[float, ...]  # who counted, [S]
    open: tuple[float, ...]  # who had asked and did not, [S]

    @abstractmethod
    def pays(self, place: int, times: IntArray | None = None) -> FloatArray:
        """Return the probability that each category pays, [K].

        `times` [R] says how often each round counts, once unless given.  It is NaN
        where nothing can be said.
        """


class SumsAsOf(AsOf):
    """Outcomes of mature rounds, tested round by round."""

    def __init__(
        self,
        clients: PastClients,
        ends: list[int],
        *,
        matures: int | None = None,
        still_open: FloatArray | None = None,
    ) -> None:
        self.outcomes = [
            Outcomes.of(clients, until=end, matures=matures, still_open=still_open) for end in ends
        ]
        self.clients = tuple(float(each.clients.sum()) for each in self.outcomes)
        self.open = tuple(float(each.open.sum()) for each in self.outcomes)

    def pays(self, place: int, times: IntArray | None = None) -> FloatArray:
        found = self.outcomes[place]
        if times is None:
            return probabilities(found)
        # A round that counts twice is two rounds: they stay where it was.
        rows = np.repeat(np.arange(found.mature), times[: found.mature])
        several = replace(
            found,
            labels=tuple(found.labels[row] for row in rows.tolist()),
            clients=found.clients[rows],
            profit=found.profit[rows],
            open=found.open[rows],
            mature=rows.size,
            amount=None if found.amount is None else found.amount[rows],
        )
        return probabilities(several)


class BooksAsOf(AsOf):
    """Lending books with the loans and the ends that were known.

    A book is linear in its loans.  So it is added up by the round that issued them: how
    many left the book at each age, by default or otherwise, and who asked.
    """

    def __init__(self, clients: SingleClients, ends: list[int], lending: Lending) -> None:
        cells = LoanCells.of(clients, None)
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

    def book(self, place: int, times: IntArray | None = None) -> LoanBook:
        """Return the book at the end of a round, as it is read."""
        end, (rounds, categories, _) = self.ends[place], self.number.shape
        weights = np.ones(rounds) if times is None else times.astype(np.float64)
        weights = np.where(np.arange(rounds) < end, weights, 0.0)
        left, defaults, closings = (
            np.tensordot(weights, each[place], 1)
            for each in (self.left, self.defaults, self.closings)
        )
        # A book knows a product from the round on in which somebody asks for it.
        known = np.flatnonzero(self.number[:end].sum(axis=(0, 1)))
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
        issued = weights[:end, np.newaxis, np.newaxis] * self.number[:end][:, :, known]
        book.issued[:, :, 1:] = issued.transpose(1, 2, 0)
        book.ended = np.zeros_like(book.issued)
        fading = weights[:end] * self.lending.memory ** np.arange(end - 1.0, -1.0, -1.0)
        book.asked, book.offered = (
            np.tensordot(fading, each[:end][:, :, known], 1) for each in (self.number, self.rates)
        )
        return book

    def pays(self, place: int, times: IntArray | None = None) -> FloatArray:
        reading = self.book(place, times).read(np.ones(self.number.shape[1]))
        return np.exp(-reading[BookRow.POSTERIOR])
