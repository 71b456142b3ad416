"""A test of "the category pays", clustered by periods of consecutive rounds.

Clients of a round share a shock: vintages of loans vary together.  Shocks persist from
round to round, too.  So the rounds of a category are cut into 8 periods with equally
many of its clients, and periods count as independent.  With V the profit, N the
clients and r = V/N, its variance is that of the jackknife over the g periods,

    s^2 = (g - 1)/g sum ((v_j - r n_j)/(1 - n_j/N))^2.

Rare rewards.  A category whose few large rewards have not come yet looks hopeless, and
its profits hardly vary.  So two clients are imagined who bring the largest profit that
anybody has brought, L, all in one period more:

    T = (V + 2 L) / sqrt(s^2 + (2 L)^2),

which is compared with Student's law of g - 1 degrees of freedom.  For loans, 2 L is
next to nothing.

Two looks.  A category that paid at first and loses since is to be stopped today, but
the change inflates the variance of its whole past.  So the later half of its clients is
tested alone, too, by 8 periods of its own, and P = min(1, 2 min(P_all, P_recent)).

Example: a category that loses 1 on each of ten clients in each of eight rounds, give or
take, and one that earns it:

>>> profit = np.array([[-9.0, 9.0], [-11.0, 11.0]] * 4)
>>> found = Outcomes(
...     ("a", "b"), tuple("12345678"), np.full((8, 2), 10.0), profit, np.zeros((8, 2)),
...     mature=8, most=2.0,
... )
>>> test = PeriodTest.of(found)
>>> test.pays.round(7).tolist(), test.low.round(2).tolist(), test.high.round(2).tolist()
([7e-07, 0.9999997], [-1.09, 0.91], [-0.78, 1.17])
"""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from profitable.advice.outcomes import Outcomes
from profitable.common.types import FloatArray, IntArray
from profitable.kernels.special import student_tails

PERIODS = 8  # few enough that shocks of one hardly reach the next, and enough to vary
LEAST_PERIODS = 5  # with clients of a category, for anything to be said of it
IMAGINED = 2.0  # clients who bring the largest profit
EDGE = 0.025  # outside of each end of an interval


@dataclass(frozen=True, eq=False)
class PeriodTest:
    """P(pays) and the interval of the profit per client, [K] each; NaN if unknown."""

    pays: FloatArray
    low: FloatArray
    high: FloatArray
    recent: "Recent | None" = None  # by bets and by hazards there is no second look

    @property
    def both(self) -> FloatArray:
        """P-values of both looks together, [K]."""
        return self.pays if self.recent is None else either(self.pays, self.recent.pays)

    @classmethod
    def of(cls, outcomes: Outcomes, *, looks_twice: bool = True) -> "PeriodTest":
        """Test each category, and its later half unless it has none."""
        counts = Periods.of(outcomes)
        reach = quantile(EDGE, counts.freedom)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = (counts.profit + reach * np.sqrt(counts.variance)) / counts.clients
            imagined = counts.profit + counts.more - reach * counts.error
            high = imagined / (counts.clients + IMAGINED)
        return cls(counts.pays(), low, high, Recent.of(outcomes) if looks_twice else None)


@dataclass(frozen=True, eq=False)
class Recent:
    """The test of the later half of the clients of each category, [K]."""

    pays: FloatArray  # NaN if unknown
    clients: FloatArray
    profit: FloatArray
    first: IntArray  # the round in which that half begins, from 0

    @classmethod
    def of(cls, outcomes: Outcomes) -> "Recent":
        """Test each category."""
        half = later_half(outcomes)
        counts = Periods.of(half)
        first = np.zeros(counts.clients.size, np.int64)
        if half.mature:
            first = (half.clients > 0.0).argmax(axis=0).astype(np.int64)
        return cls(counts.pays(), counts.clients, counts.profit, first)


@dataclass(frozen=True, eq=False)
class Periods:
    """What the test needs of each category, [K]; NaN where nothing can be said."""

    clients: FloatArray
    profit: FloatArray
    variance: FloatArray  # of the profit, by the jackknife
    more: FloatArray  # profit of the imagined clients
    freedom: FloatArray  # degrees of freedom

    @classmethod
    def of(cls, outcomes: Outcomes, most: FloatArray | None = None) -> "Periods":
        """Cut the rounds into periods, for each category by its own clients.

        `most` [K] is the largest profit of a client, unless it is that of the outcomes.
        """
        clients, profit = (each[: outcomes.mature] for each in (outcomes.clients, outcomes.profit))
        size, total = clients.shape[1], clients.sum(axis=0)
        middle = np.cumsum(clients, axis=0) - 0.5 * clients
        with np.errstate(divide="ignore", invalid="ignore"):
            share: FloatArray = np.where(total > 0.0, middle / total, 0.0)
            place = np.minimum((PERIODS * share).astype(np.int64), PERIODS - 1)
            cells: IntArray = place * size + np.arange(size, dtype=np.int64)
            number, money = (
                np.bincount(cells.ravel(), each.ravel(), PERIODS * size).reshape(PERIODS, size)
                for each in (clients, profit)
            )
            periods = (number > 0.0).sum(axis=0).astype(np.float64)
            away = (money - money.sum(axis=0) / total * number) / (1.0 - number / total)
            variance = (periods - 1.0) / periods * np.square(away).sum(axis=0)
        more = IMAGINED * (np.full(size, largest(outcomes)) if most is None else most)
        # Where nobody has brought a profit, nothing bounds what a rare client would.
        says = (periods >= LEAST_PERIODS) & (more > 0.0)
        variance = np.where(says, variance, math.nan)
        return cls(total, money.sum(axis=0), variance, more, np.maximum(periods - 1.0, 1.0))

    @property
    def error(self) -> FloatArray:
        """Standard error of the profit, with that of the imagined clients."""
        return np.sqrt(self.variance + self.more**2)

    def pays(self) -> FloatArray:
        """Return P(so little is earned), if the category just pays, [K]."""
        return student_tails((self.profit + self.more) / self.error, self.freedom)


def later_half(outcomes: Outcomes) -> Outcomes:
    """Return the mature rounds with the later half of each category's clients.

    A round belongs to the half in which the middle one of its clients is.
    """
    clients, profit = (each[: outcomes.mature] for each in (outcomes.clients, outcomes.profit))
    middle = np.cumsum(clients, axis=0) - 0.5 * clients
    is_late = middle >= 0.5 * clients.sum(axis=0)
    return replace(
        outcomes,
        clients=np.where(is_late, clients, 0.0),
        profit=np.where(is_late, profit, 0.0),
        most=largest(outcomes),
    )


def both_looks(outcomes: Outcomes, most: FloatArray | None = None) -> FloatArray:
    """Return the p-values of the whole past and of its later half together, [K].

    `most` [K] is the largest profit of a client, unless it is that of the outcomes.
    """
    looks = outcomes, later_half(outcomes)
    return either(*(Periods.of(each, most).pays() for each in looks))


def either(one: FloatArray, other: FloatArray) -> FloatArray:
    """Combine two p-values by Bonferroni's correction; one alone where one is NaN.

    >>> either(np.array([0.01, 0.7, 0.2]), np.array([0.4, 0.6, math.nan])).tolist()
    [0.02, 1.0, 0.2]
    """
    looks = 2.0 - np.isnan(one) - np.isnan(other)
    return np.minimum(looks * np.fmin(one, other), 1.0)


def largest(outcomes: Outcomes) -> float:
    """Return the largest profit of a client, or of the mean of a round unless known."""
    if outcomes.most is not None:
        return outcomes.most
    there = outcomes.clients > 0.0
    return float((outcomes.profit[there] / outcomes.clients[there]).max(initial=-math.inf))


def quantile(tail: float, freedom: FloatArray) -> FloatArray:
    """Return the points below which Student's laws have a probability of `tail`."""
    found = {each: _quantile(tail, each) for each in np.unique(freedom).tolist()}
    return np.array([found[each] for each in freedom.tolist()])


@cache
def _quantile(tail: float, freedom: float) -> float:
    low, high = -1e4, 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = student_tails(np.array([middle]), np.array([freedom]))[0] < tail
        low, high = (middle, high) if below else (low, middle)
    return high
