"""A test of "the category pays" by betting, for clients whom a learning policy chose.

A policy that learns stops a category when it looks bad, by bad luck as well, and never
sees that luck even out.  So means of the clients whom it accepted are too low, and
p-values are wrong.  But a round that accepts a category decided so before it saw the
outcomes.  If the category pays in each round, nobody gets rich by betting against it:
with x_t the mean profit of the clients of round t, and L the most that a client can
bring, the capital

    E = prod_t (1 - c x_t / L),  0 <= c <= 1,

is expected to be at most 1, whatever the policy does.  It is an *e-value*, and the mean
over several stakes c is one, too.  P(E >= 1/p) <= p, so that 1/E takes the place of
P(pays).  Benjamini-Hochberg on 1/E holds its level under any dependence (Wang and
Ramdas 2022).

Example: ten rounds in each of which all clients lose 1, where they can bring 1 at most.
The largest stake doubles the capital in each round:

>>> lost = Outcomes(
...     ("a",), tuple("1234567890"), np.full((10, 1), 5.0), np.full((10, 1), -5.0),
...     np.zeros((10, 1)), 10, most=1.0, least=-1.0,
... )
>>> capital = 1.0 / betting_test(lost).pays
>>> capital.round(1).tolist(), round(float(np.mean((1.0 + STAKES) ** 10)), 1)
([219.2], 219.2)
"""

import math

import numpy as np

from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import EDGE, PeriodTest, largest
from profitable.common.types import BoolArray, FloatArray

STAKES = 0.5 ** np.arange(5)  # shares of the largest stake, each with a fifth of the capital
SMALLEST = 1e-300  # stands for 0 in a denominator
STEPS = 50  # of the bisection for the edges of an interval


def betting_test(outcomes: Outcomes) -> PeriodTest:
    """Test each category by bets; the interval has the profits that no bet refutes."""
    pays = refutations(outcomes)
    unknown = np.isnan(pays)
    if unknown.all():
        return PeriodTest(pays, pays, pays)
    x, bets = _means(outcomes)
    most, least = largest(outcomes), smallest(outcomes)
    high = _edge(x, bets, most, least)
    low = -_edge(-x, bets, -least, -most)  # the same bets on the mirror image
    low, high = (np.where(unknown, math.nan, each) for each in (low, high))
    return PeriodTest(pays, low, high)


def refutations(outcomes: Outcomes) -> FloatArray:
    """Return 1 over the capital of each category, at most 1, [K]; NaN if unknown."""
    x, bets = _means(outcomes)
    most, zero = largest(outcomes), np.zeros(x.shape[1])
    if not most > 0.0:
        return np.full(zero.size, math.nan)
    found = np.minimum(np.exp(-log_capital(x, bets, most, zero)), 1.0)
    return np.where(bets.any(axis=0), found, math.nan)


def _means(outcomes: Outcomes) -> tuple[FloatArray, BoolArray]:
    """Return the mean profit by mature round and category, and whether it exists."""
    clients, profit = outcomes.clients[: outcomes.mature], outcomes.profit[: outcomes.mature]
    return profit / np.where(clients > 0.0, clients, 1.0), clients > 0.0


def smallest(outcomes: Outcomes) -> float:
    """Return the smallest profit of a client, or of the mean of a round."""
    if outcomes.least is not None:
        return outcomes.least
    there = outcomes.clients > 0.0
    return float((outcomes.profit[there] / outcomes.clients[there]).min(initial=math.inf))


def log_capital(x: FloatArray, bets: BoolArray, most: float, mean: FloatArray) -> FloatArray:
    """Return the log of the capital of bets on means `x` [R, K] below `mean` [K]."""
    room = np.maximum(most - mean, SMALLEST)
    with np.errstate(divide="ignore", over="ignore"):
        shares = np.where(bets, (x - mean) / room, 0.0)
        logs = [np.log(np.maximum(1.0 - stake * shares, 0.0)).sum(axis=0) for stake in STAKES]
    return np.logaddexp.reduce(logs, axis=0) - math.log(len(STAKES))


def _edge(x: FloatArray, bets: BoolArray, most: float, least: float) -> FloatArray:
    """Return the smallest mean that the bets refute, [K]; `most` if none is refuted.

    The larger a mean, the more do the bets against it bring.
    """
    low, high = np.full(x.shape[1], least), np.full(x.shape[1], most)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        refuted = log_capital(x, bets, most, middle) >= -math.log(EDGE)
        low, high = np.where(refuted, low, middle), np.where(refuted, middle, high)
    return high
