"""Rewards as a policy for bounded rewards sees them, cut into an interval.

This file has their mean, and the table of cells that whole-number rewards are drawn
from.
"""

import math
from functools import lru_cache

import numpy as np

from profitable.common.types import FloatArray, IntArray
from profitable.errors import ParameterError
from profitable.kernels.law import Law, log_mass
from profitable.kernels.statistic import survivals
from profitable.model.families import Family

NEGLIGIBLE = 1e-18  # rewards that together are less likely than this have no cells of their own
# Random numbers of 53 bits cannot produce an event that is less likely than this in a
# run.
UNSEEN = 1e-30
MOST_CELLS = 10**6
# A quadrature whose panels shrink towards the lower edge and towards the mean, wherever
# the mass is.
PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)
PANEL_RATIO, PANELS = 0.25, 200  # from the whole width down to 1e-120 of it


@lru_cache(maxsize=4096)
def cut_mean(family: Family, mean: float, low: float, high: float) -> float:
    """E[min(max(X, low), high)] for rewards X with that mean.

    >>> from profitable import Exponential
    >>> round(cut_mean(Exponential(), 2.0, 0.0, 2.0), 6)  # 2 (1 - 1/e)
    1.264241
    """
    support = family.support
    if low <= support.low and support.high <= high:
        return mean
    if support.whole:
        cells = reward_cells(family, mean)
        odds = np.append(cells[2, :-1], 1.0)  # of a cell, given that it is no earlier one
        chances = odds * np.concatenate([[1.0], np.cumprod(1.0 - odds[:-1])])
        return float(np.clip(cells[0], low, high) @ chances)
    # E = low + the integral of P(X > x) from low to high; below the support that is
    # certain.
    start = min(max(low, support.low), high)
    width = high - start
    shrinking = width * PANEL_RATIO ** np.arange(PANELS)
    edges = np.unique(
        np.clip(
            np.concatenate([start + shrinking, mean - shrinking, mean + shrinking]), start, high
        )
    )
    edges = np.concatenate([[start], edges[edges > start]])
    half = 0.5 * np.diff(edges)
    points = (edges[:-1] + half)[:, None] + half[:, None] * PANEL_NODES
    view, beyond = family.view(), np.empty(points.size)
    law, statistic = view.law, view.statistic
    survivals(law, statistic.coded, statistic.of_mean(mean), points.ravel(), beyond)
    return start + float(half @ (beyond.reshape(points.shape) @ PANEL_WEIGHTS))


def reward_cells(family: Family, mean: float, order: IntArray | None = None) -> FloatArray:
    """Return the table from which kernels draw many whole-number rewards, [4, D + 1].

    See `kernels/rewards.py`.

    The most likely reward comes first, so that a draw seldom reaches the end of the
    table.  With `order`, a permutation of 0, 1, ..., D - 1, these rewards come in that
    order, however likely they are.
    """
    view = family.view()
    numbers = view.law, view.statistic.of_mean(mean)
    certain = mean in (view.support.low, view.support.high)  # no chance involved
    if certain and order is None:
        order = np.array([int(mean), *range(int(mean))])
    if order is not None:
        top = order.size - 1.0
    else:
        top = view.support.high if view.support.high < math.inf else _last_value(numbers)
    if certain:
        masses, beyond = (np.arange(top + 1.0) == mean).astype(np.float64), 0.0
    else:
        masses = np.array(
            [math.exp(log_mass(*numbers, float(value))) for value in range(int(top) + 1)]
        )
        beyond = _beyond(numbers, top, view.support.high)
    order = np.argsort(-masses, kind="stable") if order is None else order
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
    """Return whether a whole-number reward outside [low, high] never happens.

    `clients` is the mean number of clients.

    The probability that it happens is at most clients x P(X > high).  Below `UNSEEN`
    that counts as never.

    >>> from profitable import Poisson
    >>> [never_cut(Poisson(), 5.0, 0.0, high, 1e6) for high in (100.0, 20.0)]
    [True, False]
    """
    view = family.view()
    if view.support.low < low or high < mean:
        return False
    numbers = view.law, view.statistic.of_mean(mean)
    top = math.floor(high)
    first = math.exp(log_mass(*numbers, top + 1.0)) if top < view.support.high else 0.0
    return clients * first < UNSEEN and clients * _beyond(numbers, top, view.support.high) < UNSEEN


def _beyond(numbers: tuple[Law, float], top: float, highest: float) -> float:
    """P(X > top) as a sum; beyond `top` the masses must fall at least geometrically."""
    beyond = 0.0
    value = top + 1.0
    while value <= highest:
        term = math.exp(log_mass(*numbers, value))
        beyond += term
        value += 1.0
        if term <= 1e-17 * beyond:
            break
    return beyond


def _last_value(numbers: tuple[Law, float]) -> int:
    """Return a value x with P(X > x) < `NEGLIGIBLE`.

    ParameterError if it would be beyond `MOST_CELLS`.
    """
    mean = numbers[-1]
    high = 16
    while high < MOST_CELLS:
        here = log_mass(*numbers, float(high))
        ratio = math.exp(log_mass(*numbers, float(high) + 1.0) - here)
        if high > mean and ratio < 1.0 and here - math.log1p(-ratio) < math.log(NEGLIGIBLE):
            return high
        high = high * 5 // 4
    raise ParameterError(
        "mean",
        mean,
        f"has more than {MOST_CELLS} likely values around it",
        "leave out the bound, or give rewards in a larger unit",
    )
