"""Rewards that a policy for bounded rewards sees cut: their mean, and whole-number rewards as cells of a table."""

import math

import numpy as np

from profitable.errors import ParameterError
from profitable.families import Family, Gaussian, Pareto, Weibull
from profitable.kernels.draw import log_mass
from profitable.kernels.law import GAMMA
from profitable.kernels.special import gamma_evidence, normal_evidence
from profitable.types import FloatArray

NEGLIGIBLE = 1e-18  # rewards less likely than this, all together, are drawn one by one instead of told apart
UNSEEN = 1e-30  # what happens in a run less likely than this cannot come out of random numbers of 53 bits
MOST_CELLS = 10**6


def cut_mean(family: Family, mean: float, low: float, high: float) -> float:
    """E[min(max(X, low), high)] for rewards of that mean.

    >>> from profitable import Exponential
    >>> round(cut_mean(Exponential(), 2.0, 0.0, 2.0), 6)  # 2 (1 - 1/e)
    1.264241
    """
    lens = family.lens()
    if isinstance(family, Gaussian):
        # E[max(X - h, 0)] = s [phi(z) - z P(Z > z)], z = (h - mean)/s
        def beyond(z: float) -> float:
            density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
            return max(0.0, family.sigma * (density - z * math.exp(-normal_evidence(z))))

        return mean - beyond((high - mean) / family.sigma) + beyond((mean - low) / family.sigma)
    if isinstance(family, Pareto):
        tail = mean / (mean - family.scale)  # alpha, with P(X > x) = (scale/x)^alpha
        return family.scale * (1.0 - math.expm1((1.0 - tail) * math.log(high / family.scale)) / (tail - 1.0))
    if isinstance(family, Weibull):
        value = (high / mean * math.gamma(1.0 + 1.0 / family.shape)) ** family.shape
        return mean * _gamma_below(1.0 / family.shape, value)
    if lens.law == GAMMA:
        value = lens.p0 * high / mean
        return mean * _gamma_below(lens.p0 + 1.0, value) + high * (1.0 - _gamma_below(lens.p0, value))
    if family.bounds is not None:
        return mean
    cells = reward_cells(family, mean)
    return float(np.minimum(cells[0], high) @ _probabilities(cells))


def _gamma_below(a: float, x: float) -> float:
    """P(G <= x) for G ~ Gamma(a, 1)."""
    return math.exp(-gamma_evidence(a, x, x - a, False))


def _probabilities(cells: FloatArray) -> FloatArray:
    """The probability of each cell from those given that it is none of the earlier ones."""
    odds = np.append(cells[2, :-1], 1.0)
    return odds * np.concatenate([[1.0], np.cumprod(1.0 - odds[:-1])])


def reward_cells(family: Family, mean: float) -> FloatArray:
    """Whole-number rewards as the kernels draw them many at a time, [4, D + 1]; see `kernels/world.py`.

    The most likely reward comes first, so that a draw seldom gets to the end of the table.
    """
    lens = family.lens()
    numbers = (*lens.law_numbers, lens.statistic_of_mean(mean))
    if mean in (lens.support.low, lens.support.high):  # no chance involved
        only = int(mean)
        order = np.array([only, *[v for v in range(only) if v != only]])
        table = np.zeros((4, only + 2))
        table[0, : only + 1], table[2, 0] = order, 1.0
        table[3, order] = np.arange(only + 1)
        table[0, -1] = only + 1
        return table
    top = lens.support.high if lens.support.high < math.inf else _last_value(numbers)
    masses = np.array([math.exp(log_mass(*numbers, float(value))) for value in range(int(top) + 1)])
    beyond = _beyond(numbers, top, lens.support.high)
    order = np.argsort(-masses, kind="stable")
    likely = masses[order]
    left = np.cumsum(np.append(likely, beyond)[::-1])[::-1]  # summed from the smallest
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.where(left[:-1] > 0.0, likely / left[:-1], 1.0)
    table = np.zeros((4, order.size + 1))
    table[0, :-1], table[0, -1] = order, top + 1.0
    table[2, :-1], table[2, -1] = odds, beyond
    table[3, order] = np.arange(order.size)
    return table


def never_cut(family: Family, mean: float, low: float, high: float, clients: float) -> bool:
    """Whether no whole-number reward of that many clients, on average, will ever lie outside [low, high].

    The probability that one does is at most clients x P(X > high): below `UNSEEN`, no sum of rewards shows it.

    >>> from profitable import Poisson
    >>> never_cut(Poisson(), 5.0, 0.0, 100.0, 1e6), never_cut(Poisson(), 5.0, 0.0, 20.0, 1e6)
    (True, False)
    """
    lens = family.lens()
    if lens.support.low < low or high < mean:
        return False
    numbers = (*lens.law_numbers, lens.statistic_of_mean(mean))
    top = math.floor(high)
    first = math.exp(log_mass(*numbers, top + 1.0)) if top < lens.support.high else 0.0
    return clients * first < UNSEEN and clients * _beyond(numbers, top, lens.support.high) < UNSEEN


def _beyond(numbers: tuple[int, float, float, float, float], top: float, highest: float) -> float:
    """P(X > top), from where on masses fall at least geometrically."""
    beyond = 0.0
    value = top + 1.0
    while value <= highest:
        term = math.exp(log_mass(*numbers, value))
        beyond += term
        value += 1.0
        if term <= 1e-17 * beyond:
            break
    return beyond


def _last_value(numbers: tuple[int, float, float, float, float]) -> int:
    """A value beyond which rewards have a probability of less than `NEGLIGIBLE`."""
    mean = numbers[-1]
    high = 16
    while high < MOST_CELLS:
        here = log_mass(*numbers, float(high))
        ratio = math.exp(log_mass(*numbers, float(high) + 1.0) - here)
        if high > mean and ratio < 1.0 and here - math.log1p(-ratio) < math.log(NEGLIGIBLE):
            return high
        high = high * 5 // 4
    remedy = "leave out the bound, or give rewards in a larger unit"
    raise ParameterError("mean", mean, f"has more than {MOST_CELLS} likely values around it to be told apart", remedy)
