"""Exponential rewards cut at a bound, many at once.

A piece is some of the rewards that are not cut, drawn as their sum.

Everything is in units of the mean reward: the rewards are standard exponential, and P(X
> bound) = exp(-bound).

The equation is Whitworth's: n standard exponential variables with sum s are all at most
b with probability

    sum over j of (-1)^j C(n, j) (1 - j b/s)_+^(n - 1).

Example: two variables with sum 1.5 are both at most 1 with probability 1 - 2 (1 -
1/1.5) = 1/3.
"""

import math

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, part

CANCELS = 3.0  # beyond this first term Whitworth's sum loses digits


@kernel
def split_up(rng: np.random.Generator, total: float, out: FloatArray) -> float:
    """Fill `out` [n] with exponential variables given their sum; return the largest.

    They are uniform spacings.
    """
    raw = 0.0
    largest = 0.0
    for i in range(out.size):
        value = rng.standard_exponential()
        out[i] = value
        raw += value
        largest = max(largest, value)
    scale = total / raw
    for i in range(out.size):
        out[i] *= scale
    return largest * scale


@kernel
def none_beyond(rng: np.random.Generator, number: int, total: float, bound: float) -> bool:
    """Draw whether exponential variables with that sum are all at most `bound`.

    The probability is Whitworth's sum of (-1)^j C(n, j) (1 - j bound/total)_+^(n - 1),
    whose partial sums are too large and too small in turn: few of them decide.
    """
    if total <= bound:
        return True
    if total >= number * bound:
        return False
    power = number - 1.0
    log_ways = math.log(number)
    if log_ways + power * math.log1p(-bound / total) > math.log(CANCELS):
        return split_up(rng, total, np.empty(number)) <= bound
    left = rng.random()
    chance = 1.0
    j = 1.0
    while j * bound < total:
        term = math.exp(log_ways + power * math.log1p(-j * bound / total))
        if j % 2.0 == 1.0:
            chance -= term
            if left < chance:
                return True
        else:
            chance += term
            if left >= chance:
                return False
        if j >= number:
            break
        log_ways += math.log((number - j) / (j + 1.0))
        j += 1.0
    return left < chance


@kernel
def draw_piece(rng: np.random.Generator, number: int, bound: float) -> float:
    """Draw the sum of exponential variables given that none exceeds `bound`."""
    while True:
        total = rng.standard_gamma(float(number))
        if none_beyond(rng, number, total, bound):
            return total


@part
def largest_piece(bound: float) -> int:
    """Return how many variables leave a fair chance that none exceeds `bound`."""
    return int(min(math.exp(min(bound, 40.0)), 1e17))
