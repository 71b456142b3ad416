"""One way of grouping past clients, with P(pays) of each category.

>>> from profitable.past.layout import Layout
>>> from profitable.past.past import SingleClients
>>> rounds = [t for t in range(1, 9) for _ in range(10)]
>>> paid = [4.0 if client % 10 < 2 else 0.0 for client in range(80)]
>>> clients = SingleClients.of(
...     names=("a",), labels=tuple("12345678"), round=rounds, category=[0] * 80,
...     known=rounds, reward=paid, profit=[each - 1.0 for each in paid],
... )
>>> layout = Layout(category="job", reward="paid", time="week", cost=1)
>>> past = Past(clients, layout, "a file", 80, "week", [], [], [])
>>> job = JudgedGrouping.of("job", past)
>>> job.mean.round(4).tolist(), job.threshold, job.how
([0.8], 1.0, 'periods')
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from profitable.advice.betting import betting_test
from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import EDGE, PeriodTest
from profitable.agent.loan_book import BookReading
from profitable.common.types import FloatArray
from profitable.kernels.hazards import BookRow
from profitable.past.layout import Layout
from profitable.past.past import NEVER_KNOWN, Past, SingleClients
from profitable.past.past_loans import book_of, last_round, lending_of

BY_PERIODS, BY_BETS, BY_HAZARDS = "periods", "bets", "hazards"  # how categories are judged


def how_of(layout: Layout) -> str:
    """Return how the categories of a file are judged."""
    if layout.by_hazards:
        return BY_HAZARDS
    return BY_PERIODS if layout.accepted is None else BY_BETS


def hazard_probabilities(past: Past, until: int | None = None) -> FloatArray:
    """Return P(pays) of loans by their hazards, [K], as known at the end of a round."""
    return _by_hazards(past, until)[0].pays


def pays_by(reading: BookReading) -> FloatArray:
    """Return P(pays) of the categories of a lending book, [K]; NaN if it cannot say."""
    says = (reading[BookRow.EXPOSURE] > 0.0) & ~np.isnan(reading[BookRow.BREAK_EVEN])
    return np.where(says, np.exp(-reading[BookRow.POSTERIOR]), math.nan)


def _by_hazards(past: Past, until: int | None) -> tuple[PeriodTest, FloatArray]:
    """Return P(pays) and intervals by hazards, and the mean value of a loan, [K]."""
    clients = past.clients
    assert isinstance(clients, SingleClients)
    assert clients.amount is not None
    size = len(clients.names)
    book = book_of(clients, lending_of(past.layout, past.round), until)
    reading = book.read(np.ones(size))
    pays = pays_by(reading)
    says = ~np.isnan(pays)
    lent = clients.by_category("amount") / np.maximum(clients.by_category("number"), 1.0)
    low, high = (
        np.where(says, lent * (reading.indices(nats, is_posterior=True) - 1.0), math.nan)
        for nats in (np.full(size, -math.log1p(-EDGE)), np.full(size, -math.log(EDGE)))
    )
    return PeriodTest(pays, low, high), reading[BookRow.VALUE]


@dataclass(frozen=True, eq=False)
class JudgedGrouping:
    """The categories of one grouping, [K], and what their past says of them."""

    name: str
    outcomes: Outcomes
    test: PeriodTest
    how: str
    mean: FloatArray  # in the unit of rewards; NaN without clients
    threshold: float
    is_uplift: bool = False  # whether rewards are the effect of a treatment

    @classmethod
    def of(
        cls, name: str, past: Past, until: int | None = None, how: str | None = None
    ) -> "JudgedGrouping":
        """Judge the categories of a file, as known at the end of a round, or today.

        `how` is that of the file unless given: loans with hazards are judged by periods
        if all of them have ended, because nothing is left to predict.
        """
        layout, clients = past.layout, past.clients
        if how is None:
            ended = until is None and not (clients.known == NEVER_KNOWN).any()
            how = BY_PERIODS if layout.by_hazards and ended else how_of(layout)
        if how == BY_HAZARDS:
            test, mean = _by_hazards(past, until)
            outcomes = Outcomes.of(clients, until=until, matures=None if until is None else 0)
            if until is None:  # open loans count with what the hazards say of them
                still = clients.clients_by_cell((clients.known == NEVER_KNOWN).astype(np.int64))
                outcomes = replace(outcomes, clients=outcomes.clients - still, open=still)
            return cls(name, outcomes, test, how, mean, 1.0)
        if layout.by_hazards and until is None:
            assert isinstance(clients, SingleClients)
            until = last_round(clients)  # the profits of open loans are not outcomes
        outcomes = Outcomes.of(
            clients,
            until=until,
            matures=None if until is None else layout.matures,
            still_open=past.still_open,
        )
        test = PeriodTest.of(outcomes) if how == BY_PERIODS else betting_test(outcomes)
        threshold, worth = layout.threshold, outcomes.clients * layout.revenue
        if outcomes.amount is not None:
            threshold, worth = 1.0 + layout.margin, outcomes.amount
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = threshold + outcomes.profit.sum(axis=0) / worth.sum(axis=0)
        return cls(name, outcomes, test, how, mean, threshold, layout.treated is not None)
