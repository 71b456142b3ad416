"""Past loans: when they defaulted or closed, and their replay by a lending book.

A loan that is open when the file ends is worth what the hazards of the whole file say
of the ages to come.  It is the same for every policy.

>>> loans = SingleClients.of(
...     names=("cars",), labels=tuple("123"), round=[1, 1, 2], category=[0] * 3,
...     known=[3, 2, NEVER_KNOWN], reward=[0.0] * 3, profit=[0.0] * 3,
...     amount=[100.0] * 3, term=[2] * 3, rate=[0.12] * 3,
...     defaulted=[True, False, False],
... )
>>> book = book_of(loans, Lending())
>>> [float(each.sum()) for each in (book.defaults, book.closings, book.open)]
[1.0, 1.0, 1.0]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from profitable.agent.agent import Agent
from profitable.agent.loan_book import LoanBook, Loans, coded
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.kernels.hazards import (
    CLOSED,
    DEFAULTED,
    OPEN,
    BookRow,
    PastLoans,
    values_of_loans,
)
from profitable.model.lending import Lending
from profitable.past.layout import PER_YEAR, Layout
from profitable.past.past import NEVER_KNOWN, SingleClients


def lending_of(layout: Layout, round: str | int) -> Lending:
    """Return the terms that all loans of a file share."""
    return Lending(
        required=layout.required or 0.0,
        recovery=layout.recovery,
        lag=layout.lag,
        level=layout.level,
        per_year=PER_YEAR[str(round)],
    )


@dataclass(frozen=True, eq=False)
class LoanCells:
    """Past loans by round, category and term, as a replay tells them to an agent."""

    clients: SingleClients
    terms: IntArray  # [P]
    number: FloatArray  # of loans, [R, K, P]
    rates: FloatArray  # sums of their rates a year, [R, K, P]
    weights: FloatArray  # how often each loan is there, [n]

    @classmethod
    def of(cls, clients: SingleClients, weights: IntArray | None) -> "LoanCells":
        """Add up loans, each of which counts `weights` times, [n]."""
        assert clients.term is not None
        assert clients.rate is not None
        times = np.ones(len(clients)) if weights is None else weights.astype(np.float64)
        terms, products = np.unique(clients.term.astype(np.int64), return_inverse=True)
        shape = clients.rounds, len(clients.names), terms.size
        cells = np.ravel_multi_index((clients.round - 1, clients.category, products), shape)
        number, rates = (
            np.bincount(cells, values, int(np.prod(shape))).astype(np.float64).reshape(shape)
            for values in (times, times * clients.rate)
        )
        return cls(clients, terms, number, rates, times)

    def quote(self, book: LoanBook, place: int) -> None:
        """Tell a book who asks in a round."""
        positions, products = np.nonzero(self.number[place])
        number = self.number[place, positions, products]
        rates = self.rates[place, positions, products] / number
        book.quote(positions, self.terms[products], number, rates)

    def lend(self, agent: Agent, place: int, accepted: BoolArray) -> None:
        """Tell an agent which loans were accepted in a round."""
        positions, products = np.nonzero(self.number[place] * accepted[:, np.newaxis])
        loans = Loans.of(positions, self.terms[products], np.full(positions.size, place + 1))
        agent.ledger.add_loans(loans, self.number[place, positions, products])

    def end(self, agent: Agent, round: int, accepted: BoolArray) -> None:
        """Tell an agent which of its loans ended in a round."""
        part, clients = self.clients.known_in(round), self.clients
        assert clients.term is not None
        assert clients.defaulted is not None
        asked, category = clients.round[part], clients.category[part]
        chosen = accepted[asked - 1, category] & (self.weights[part] > 0.0)
        loans = Loans.of(category[chosen], clients.term[part][chosen], asked[chosen])
        weights, defaulted = self.weights[part][chosen], clients.defaulted[part][chosen]
        agent.ledger.end_loans(loans, weights * defaulted, weights * ~defaulted)


def last_round(clients: SingleClients) -> int:
    """Return the last round of which the file knows anything."""
    known = clients.known[clients.known != NEVER_KNOWN]
    return max(clients.rounds, int(known.max(initial=0)))


def book_of(clients: SingleClients, lending: Lending, until: int | None = None) -> LoanBook:
    """Return the book of a lender who accepted everybody, when the file ends.

    With `until`, it is the book at the end of that round: what was known by then.
    """
    book, cells = LoanBook(lending, len(clients.names)), LoanCells.of(clients, None)
    assert clients.term is not None
    assert clients.defaulted is not None
    for place in range(last_round(clients) if until is None else until):
        part: Any = np.flatnonzero(clients.known == place + 1)
        book.advance()
        if place < clients.rounds:
            cells.quote(book, place)
            positions, products = np.nonzero(cells.number[place])
            loans = Loans.of(positions, cells.terms[products], np.full(positions.size, place + 1))
            book.add(loans, cells.number[place, positions, products])
        ended = Loans.of(clients.category[part], clients.term[part], clients.round[part])
        defaulted = clients.defaulted[part].astype(np.float64)
        book.end(ended, defaulted, 1.0 - defaulted)
    return book


def scheduled_values(
    given: Mapping[str, Any], loans: Mapping[str, Any], lending: Lending
) -> tuple[FloatArray, BoolArray]:
    """Return what loans are worth at issue by their schedules, and which are open, [n].

    `given` and `loans` are the arrays that `SingleClients.of` takes, in any order.
    """
    nothing = np.zeros(given["round"].size)
    clients = SingleClients.of(**given, **loans, reward=nothing, profit=nothing)
    book = book_of(clients, lending)
    reading = book.read(np.ones(len(clients.names)))
    like_others = 1.0 / reading.frailty
    multipliers = (reading[BookRow.DEFAULTS] + like_others) / (
        reading[BookRow.EXPOSURE] + like_others
    )
    known, asked = given["known"].astype(np.int64), given["round"].astype(np.int64)
    still_open = known == NEVER_KNOWN
    ends = np.where(still_open, OPEN, np.where(loans["defaulted"], DEFAULTED, CLOSED))
    past = PastLoans(
        loans["rate"],
        book.products(loans["term"].astype(np.int64)),
        np.where(still_open, last_round(clients), known) - asked,
        ends.astype(np.int64),
        multipliers[given["category"]],
    )
    return values_of_loans(past, reading.today, reading.rates, coded(lending)), still_open
