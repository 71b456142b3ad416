"""Draws: the sum of n rewards at once, and a mean from the posterior.  Generator first, as everywhere."""

import math

import numpy as np

from profitable.kernels.compile import kernel
from profitable.kernels.law import BINOMIAL, GAMMA, NEGATIVE_BINOMIAL, POISSON
from profitable.types import FloatArray

SMALL_SHARE = 1e-6
POISSON_PIECE = 1e13  # NumPy's Poisson draws are wrong above a mean of about 1e14: larger ones are drawn in pieces


@kernel
def draw_poisson(rng: np.random.Generator, mean: float) -> float:
    """A Poisson number, for any mean, as a float."""
    total = 0.0
    while mean > POISSON_PIECE:
        total += rng.poisson(POISSON_PIECE)
        mean -= POISSON_PIECE
    return total + rng.poisson(mean)


@kernel
def draw_binomial(rng: np.random.Generator, number: int, p: float) -> int:
    """A binomial number; for small p by inversion with log1p, where the library's own log(1 - p) has no digits left."""
    if p >= SMALL_SHARE or number * p > 30.0:
        return rng.binomial(number, p)
    mass = math.exp(number * math.log1p(-p))
    left = rng.random()
    hits = 0
    while left > mass and hits < number:
        left -= mass
        hits += 1
        mass *= (number - hits + 1.0) / hits * (p / (1.0 - p))
        if mass == 0.0:
            break
    return hits


@kernel
def log_mass(law: int, p0: float, p1: float, p2: float, mean: float, value: float) -> float:
    """log P(X = value) for a single reward of a whole-number law."""
    if law == POISSON:
        return value * math.log(mean) - mean - math.lgamma(value + 1.0)
    if law == NEGATIVE_BINOMIAL:
        ways = math.lgamma(value + p0) - math.lgamma(p0) - math.lgamma(value + 1.0)
        return ways + p0 * math.log(p0 / (p0 + mean)) + value * math.log(mean / (p0 + mean))
    ways = math.lgamma(p2 + 1.0) - math.lgamma(value + 1.0) - math.lgamma(p2 - value + 1.0)
    return ways + value * math.log(mean / p2) + (p2 - value) * math.log1p(-mean / p2)


@kernel
def draw_total(
    rng: np.random.Generator, law: int, p0: float, p1: float, p2: float, mean: float, clients: float
) -> float:
    """The sum of the statistics of `clients` clients whose statistic has the given mean.

    For `BINOMIAL` it is the two-point law on (low, high), binomial when there are several trials: the law itself
    for Bernoulli and Binomial rewards, the one that is hardest to tell apart for Bounded ones.
    """
    if law == BINOMIAL:
        share = (mean - p0) / (p1 - p0)
        unit = (p1 - p0) / p2
        return p0 * clients + unit * draw_binomial(rng, int(clients * p2), share)
    if law == POISSON:
        return draw_poisson(rng, clients * mean)
    if law == NEGATIVE_BINOMIAL:
        return draw_poisson(rng, rng.standard_gamma(clients * p0) * (mean / p0))
    if law == GAMMA:
        return rng.standard_gamma(clients * p0) * (mean / p0)
    return clients * mean + p0 * math.sqrt(clients) * rng.standard_normal()


@kernel
def draw_totals(
    rng: np.random.Generator, law: int, p0: float, p1: float, p2: float, mean: float, clients: float, out: FloatArray
) -> None:
    """Fill `out` [M] with independent `draw_total`s."""
    for i in range(out.size):
        out[i] = draw_total(rng, law, p0, p1, p2, mean, clients)


@kernel
def draw_mean(
    rng: np.random.Generator, law: int, p0: float, p1: float, p2: float, clients: float, total: float
) -> float:
    """A mean from the Jeffreys posterior after `clients` clients with sum `total`."""
    if law == BINOMIAL:
        unit = p2 / (p1 - p0)
        a = 0.5 + (total - clients * p0) * unit
        b = 0.5 + (clients * p1 - total) * unit
        return p0 + (p1 - p0) * rng.beta(a, b)
    if law == NEGATIVE_BINOMIAL:  # mean / failures is a ratio of two gamma variables
        return p0 * rng.standard_gamma(total + 0.5) / rng.standard_gamma(p0 * clients)
    if law == POISSON:
        return rng.standard_gamma(total + 0.5) / clients
    if law == GAMMA:
        return p0 * total / rng.standard_gamma(p0 * clients)
    return total / clients + p0 / math.sqrt(clients) * rng.standard_normal()


@kernel
def draw_means(
    rng: np.random.Generator, law: int, p0: float, p1: float, p2: float, clients: float, total: float, out: FloatArray
) -> None:
    """Fill `out` [M] with independent `draw_mean`s."""
    for i in range(out.size):
        out[i] = draw_mean(rng, law, p0, p1, p2, clients, total)
