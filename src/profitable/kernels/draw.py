"""Draws: the sum of n rewards at once, and a mean from the posterior.

The generator is the first argument, as everywhere.

The equations: n Bernoulli rewards sum to a Binomial(n, p) number, n Poisson rewards to
a Poisson(n mean) number, n gamma rewards of shape k to a gamma variable of shape n k; a
negative binomial number is Poisson with a gamma mean.  The squared deviations of n
normal rewards from their mean are sigma^2 times a chi-squared variable with n - 1
degrees of freedom, independent of their sum.

Example: a thousand Bernoulli rewards of mean 0.3 are one draw from Binomial(1 000,
0.3).
"""

import math

import numpy as np

from profitable.common.types import FloatArray
from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    NORMAL,
    POISSON,
    SMALLEST_POSITIVE,
    Law,
)
from profitable.kernels.special import HALF_LOG_TWO_PI
from profitable.kernels.unknown_variance import freedom

SMALL_SHARE = 1e-6
# NumPy's Poisson draws are wrong above a mean of about 1e14: larger ones are drawn in
# pieces.
POISSON_PIECE = 1e13
# Of log Gamma, in falling powers of 1/x^2.
LOG_GAMMA_SERIES = (
    -1.39243221690590,
    0.1796443723688307,
    -0.02955065359477124,
    0.006410256410256410,
    -0.001917526917526918,
    0.0008417508417508418,
    -0.0005952380952380952,
    0.0007936507936507937,
    -0.002777777777777778,
    0.08333333333333333,
)


@part
def log_factorial(number: int) -> float:
    """Return log(number!), by the series with which NumPy's generator draws."""
    x = number + 1.0
    lifted = max(x, 7.0)
    square = 1.0 / lifted * (1.0 / lifted)
    series = 0.0
    for coefficient in LOG_GAMMA_SERIES:
        series = series * square + coefficient
    log_gamma = series / lifted + HALF_LOG_TWO_PI + (lifted - 0.5) * math.log(lifted) - lifted
    while lifted > x:
        lifted -= 1.0
        log_gamma -= math.log(lifted)
    return log_gamma if number > 1 else 0.0


LOG_FACTORIALS = np.array([log_factorial(number) for number in range(128)])


@part
def _large_poisson(rng: np.random.Generator, mean: float) -> int:
    """Draw a Poisson number of mean 10 or more: Hoermann's transformed rejection.

    The numbers are those of `rng.poisson`, which allocates memory for each of them and
    computes every logarithm of a factorial anew.
    """
    width = 0.931 + 2.53 * math.sqrt(mean)
    slope = 0.02483 * width - 0.059
    surely = 0.9277 - 3.6224 / (width - 2.0)
    while True:
        place, height = rng.random() - 0.5, rng.random()
        edge = 0.5 - abs(place)
        # Not truncated: what lies between -1 and 0 would be drawn as another 0.
        number = math.floor((2.0 * slope / edge + width) * place + mean + 0.43)
        if edge >= 0.07 and height <= surely:
            return number
        if number < 0 or (edge < 0.013 and height > edge):
            continue
        known = number < LOG_FACTORIALS.size
        ways = LOG_FACTORIALS[number] if known else log_factorial(number)
        level = math.log(height) + math.log(1.1239 + 1.1328 / (width - 3.4))
        density = number * math.log(mean) - mean - ways
        if level - math.log(slope / (edge * edge) + width) <= density:
            return number


@part
def draw_poisson(rng: np.random.Generator, mean: float) -> float:
    """Draw a Poisson number, for any mean, as a float."""
    total = 0.0
    while mean > POISSON_PIECE:
        total += _large_poisson(rng, POISSON_PIECE)
        mean -= POISSON_PIECE
    return total + (_large_poisson(rng, mean) if mean >= 10.0 else rng.poisson(mean))


@part
def draw_binomial(rng: np.random.Generator, number: int, p: float) -> int:
    """Draw a binomial number.

    For small p by inversion with log1p, where the library's own log(1 - p) has no
    digits left.
    """
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
def draw_total(rng: np.random.Generator, law: Law, mean: float, clients: float) -> float:
    """Draw the sum of the statistics of `clients` clients with the given mean.

    For `BINOMIAL` it is the two-point law on (low, high), binomial when there are
    several trials: the law itself for Bernoulli and Binomial rewards, the one that is
    hardest to tell apart for Bounded ones.
    """
    if law.code == BINOMIAL:
        width = law.high - law.low
        successes = draw_binomial(rng, int(clients * law.size), (mean - law.low) / width)
        return law.low * clients + width / law.size * successes
    if law.code == POISSON:
        return draw_poisson(rng, clients * mean)
    return _draw_by_gamma_or_normal(rng, law, mean, clients)


@lazy
def _draw_by_gamma_or_normal(
    rng: np.random.Generator, law: Law, mean: float, clients: float
) -> float:
    """`draw_total` for the other laws; gamma and normal draws take long to compile."""
    if law.code == NEGATIVE_BINOMIAL:
        return draw_poisson(rng, rng.standard_gamma(clients * law.size) * (mean / law.size))
    if law.code == GAMMA:
        return max(rng.standard_gamma(clients * law.size) * (mean / law.size), SMALLEST_POSITIVE)
    if law.code == GAUSSIAN:
        return clients * mean + law.size * math.sqrt(clients) * rng.standard_normal()
    return math.nan


@kernel
def draw_totals(
    rng: np.random.Generator, law: Law, mean: float, clients: float, out: FloatArray
) -> None:
    """Fill `out` [M] with independent `draw_total`s."""
    for i in range(out.size):
        out[i] = draw_total(rng, law, mean, clients)


@part
def draw_deviations(rng: np.random.Generator, sigma: float, clients: float) -> float:
    """Draw the squared deviations of `clients` normal rewards from their own mean."""
    return sigma * sigma * 2.0 * rng.standard_gamma(0.5 * (clients - 1.0)) if clients > 1.0 else 0.0


@part
def draw_mean(
    rng: np.random.Generator, law: Law, clients: float, total: float, spread: float
) -> float:
    """Draw a mean from the posterior after `clients` clients with sum `total`.

    The spread matters where the variance is unknown.
    """
    if law.code == BINOMIAL:
        width = law.high - law.low
        unit = law.size / width
        a = 0.5 + (total - clients * law.low) * unit
        b = 0.5 + (clients * law.high - total) * unit
        return law.low + width * rng.beta(a, b)
    if law.code == NEGATIVE_BINOMIAL:  # mean / failures is a ratio of two gamma variables
        return law.size * rng.standard_gamma(total + 0.5) / rng.standard_gamma(law.size * clients)
    if law.code == POISSON:
        return rng.standard_gamma(total + 0.5) / clients
    if law.code == GAMMA:
        return law.size * total / rng.standard_gamma(law.size * clients)
    if law.code == GAUSSIAN:
        return total / clients + law.size / math.sqrt(clients) * rng.standard_normal()
    # Student's law: a normal mean, given a variance whose inverse is a gamma variable.
    if law.code == NORMAL:
        variance = 0.5 * spread / rng.standard_gamma(0.5 * freedom(law, clients))
        return total / clients + math.sqrt(variance / clients) * rng.standard_normal()
    return math.nan


@kernel
def draw_means(
    rng: np.random.Generator, law: Law, clients: float, total: float, spread: float, out: FloatArray
) -> None:
    """Fill `out` [M] with independent `draw_mean`s."""
    for i in range(out.size):
        out[i] = draw_mean(rng, law, clients, total, spread)
