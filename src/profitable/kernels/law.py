"""The six laws behind all families: how far S/N is from a threshold, in nats.

Every family of `model/families.py` is one of these laws, seen through a statistic
(`kernels/statistic.py`):

| code                | size     | means         | families                           |
| ------------------- | -------- | ------------- | ---------------------------------- |
| `BINOMIAL`          | trials   | low to high   | Bernoulli, Binomial, Bounded       |
| `NEGATIVE_BINOMIAL` | failures | 0 to infinity | Geometric, NegativeBinomial        |
| `POISSON`           | not used | 0 to infinity | Poisson                            |
| `GAMMA`             | shape    | 0 to infinity | Exponential, Gamma, Pareto, Weibull |
| `GAUSSIAN`          | sigma    | every number  | Gaussian                           |
| `NORMAL`            | alpha    | every number  | Normal                             |

Notation of the paper: N clients, S the sum of their statistics, tau the threshold, d
the divergence (eq. 3).

Example: 2 of 10 Bernoulli clients against tau = 0.5.  d(0.2, 0.5) = 0.2 log 0.4 + 0.8
log 1.6 = 0.1927 nats.  The Jeffreys posterior is Beta(2.5, 8.5), and P(mean >= 0.5) =
0.0260.

>>> bernoulli = Law(BINOMIAL, low=0.0, high=1.0, size=1.0)
>>> chance = math.exp(-posterior_evidence(bernoulli, 10.0, 2.0, 0.5, 0.0))
>>> round(against(bernoulli, 10.0, 2.0, 0.5), 3), round(chance, 4)
(1.927, 0.026)

Every function here gives NaN for a code it does not know.  `NORMAL` is such a code: its
variance is not known, so N and S are not enough (`kernels/unknown_variance.py`).
"""

import math
from enum import IntEnum
from typing import NamedTuple

from profitable.kernels.compile import kernel, lazy, part
from profitable.kernels.exact import is_below, shortfall
from profitable.kernels.special import (
    beta_evidence,
    deviance_term,
    excess,
    gamma_evidence,
    normal_evidence,
)


class LawCode(IntEnum):
    """The six laws."""

    BINOMIAL = 0
    NEGATIVE_BINOMIAL = 1
    POISSON = 2
    GAMMA = 3
    GAUSSIAN = 4
    NORMAL = 5


BINOMIAL, NEGATIVE_BINOMIAL, POISSON, GAMMA, GAUSSIAN, NORMAL = (int(code) for code in LawCode)

SMALLEST_POSITIVE = 5e-324
SMALLEST_RATIO = 1e-300
BOUND_MARGIN = 1e-6  # a bound leaves more room than it can be rounded by
SMALLEST_PARAMETER = 1e-3  # of a beta posterior; no prior has less (model/prior.py)


class Law(NamedTuple):
    """One of the six laws: code, edges of its mean domain, and known parameter."""

    code: int
    low: float = 0.0
    high: float = math.inf
    size: float = 1.0


@part
def deviance(law: Law, clients: float, total: float, mean: float, carry: float = 0.0) -> float:
    """Return N d(S/N, mean), on both sides of the mean.

    `deviance(law, 1, x, y)` is the divergence d(x, y) of eq. (3).

    S is total + carry, here and below: `carry` is what the sum lost to rounding.
    """
    return deviance_by_gap(law, clients, total, mean, shortfall(clients, mean, total, carry), carry)


@lazy
def deviance_by_gap(
    law: Law, clients: float, total: float, mean: float, gap: float, carry: float
) -> float:
    """Return the same from gap = N mean - S, known better than its two terms."""
    if law.code == GAUSSIAN:
        return gap / law.size * (gap / law.size) / (2.0 * clients)
    if gap == 0.0:
        return 0.0
    expected = clients * mean
    if law.code == POISSON:
        return deviance_term(total, expected, gap)
    if law.code == GAMMA:
        if total <= 0.0 or mean <= 0.0 or mean == math.inf:
            return math.inf
        ratio = total / expected
        if ratio < SMALLEST_RATIO:
            return law.size * clients * (math.log(expected) - math.log(total) - 1.0)
        return law.size * clients * excess(-gap / expected, ratio)
    if law.code == NEGATIVE_BINOMIAL:
        failures = law.size * clients
        if mean == math.inf:
            return math.inf
        both = failures + total
        gap *= law.size / (law.size + mean)
        return deviance_term(total, both * (mean / (law.size + mean)), gap) + deviance_term(
            failures, both * (law.size / (law.size + mean)), -gap
        )
    if law.code == BINOMIAL:
        unit = law.size / (law.high - law.low)
        successes = max(0.0, -shortfall(clients, law.low, total, carry)) * unit
        failures = max(0.0, shortfall(clients, law.high, total, carry)) * unit
        return deviance_term(
            successes, clients * (mean - law.low) * unit, gap * unit
        ) + deviance_term(failures, clients * (law.high - mean) * unit, -gap * unit)
    return math.nan


@kernel
def against(law: Law, clients: float, total: float, threshold: float, carry: float = 0.0) -> float:
    """N d(S/N, tau) if S/N < tau, else 0: the evidence of kl-UCB-4P."""
    if clients <= 0.0 or not is_below(clients, total, threshold):
        return 0.0
    return deviance(law, clients, total, threshold, carry)


@part
def variance(law: Law, mean: float) -> float:
    """Return the variance of one client's statistic, when its mean is `mean`."""
    if law.code == BINOMIAL:
        return (mean - law.low) * (law.high - mean) / law.size
    if law.code == GAMMA:
        return mean * mean / law.size
    if law.code == GAUSSIAN:
        return law.size * law.size
    if law.code == NEGATIVE_BINOMIAL:
        return mean * (1.0 + mean / law.size)
    if law.code == POISSON:
        return mean
    return math.nan


@part
def natural_gap(law: Law, mean: float, other: float) -> float:
    """Return the natural parameter of one mean minus that of another."""
    if law.code == BINOMIAL:
        odds = (mean - law.low) * (law.high - other) / ((law.high - mean) * (other - law.low))
        return law.size / (law.high - law.low) * math.log(odds)
    if law.code == GAMMA:
        return law.size * (mean - other) / (mean * other)
    if law.code == GAUSSIAN:
        return (mean - other) / (law.size * law.size)
    if law.code == NEGATIVE_BINOMIAL:
        return math.log(mean * (law.size + other) / (other * (law.size + mean)))
    if law.code == POISSON:
        return math.log(mean / other)
    return math.nan


@part
def _tail_evidence(law: Law, clients: float, total: float, threshold: float, carry: float) -> float:
    gap = shortfall(clients, threshold, total, carry)
    if law.code == BINOMIAL:
        width = law.high - law.low
        unit = law.size / width
        # Rounding may push a sum of edges beyond its edge, and a prior may take almost
        # everything from the two halves.
        a = max(0.5 - shortfall(clients, law.low, total, carry) * unit, SMALLEST_PARAMETER)
        b = max(0.5 + shortfall(clients, law.high, total, carry) * unit, SMALLEST_PARAMETER)
        x = (threshold - law.low) / width
        y = (law.high - threshold) / width
        return beta_evidence(a, b, x, y, 0.5 - x - gap * unit)
    if law.code == NEGATIVE_BINOMIAL:
        both = law.size + threshold
        half = (0.5 - gap) * (law.size / both)
        return beta_evidence(
            total + 0.5, law.size * clients, threshold / both, law.size / both, half
        )
    if law.code == POISSON:
        return gamma_evidence(total + 0.5, clients * threshold, gap - 0.5, True)
    if law.code == GAMMA:
        return gamma_evidence(
            law.size * clients, law.size * total / threshold, -gap / threshold * law.size, False
        )
    if law.code == GAUSSIAN:
        return normal_evidence(gap / (law.size * math.sqrt(clients)))
    return math.nan


@lazy
def posterior_evidence(
    law: Law, clients: float, total: float, threshold: float, carry: float
) -> float:
    """Return -log P(mean >= threshold) under the Jeffreys posterior.

    It is the posterior after `clients` clients with sum `total`.

    A conjugate prior other than Jeffreys' is a number of imaginary clients.  So
    `clients` and `total` may be fractional, and even slightly negative.  Without any
    client the evidence is 0.  With one it is positive, even where it underflows: the
    posterior quantile of order 0 (Bayes-UCB at t = 1) accepts nobody.
    """
    if clients == 0.0 and total == 0.0:
        return 0.0
    if threshold <= law.low:
        return 0.0
    if threshold >= law.high:
        return math.inf
    nats = _tail_evidence(law, clients, total, threshold, carry)
    return SMALLEST_POSITIVE if nats < SMALLEST_POSITIVE else nats  # which leaves NaN alone


@part
def posterior_parameters(
    law: Law, clients: float, total: float, threshold: float
) -> tuple[float, float, float]:
    """Return a, b and x of a posterior that is made of gamma variables.

    With x > 0 it is that of a share B ~ Beta(a, b), and x is the share at the
    threshold.  With x = 0 it is that of G ~ Gamma(a, 1), the mean times a rate or a
    rate over the mean, and b is G at the threshold.
    """
    if law.code == GAMMA:
        return law.size * clients, law.size * total / threshold, 0.0
    if law.code == POISSON:
        return total + 0.5, clients * threshold, 0.0
    if law.code == BINOMIAL:
        unit = law.size / (law.high - law.low)
        a, b = 0.5 + (total - clients * law.low) * unit, 0.5 + (clients * law.high - total) * unit
        return a, b, (threshold - law.low) / (law.high - law.low)
    if law.code == NEGATIVE_BINOMIAL:
        return total + 0.5, law.size * clients, threshold / (law.size + threshold)
    return math.nan, math.nan, math.nan


@part
def posterior_bounds(
    law: Law, clients: float, total: float, threshold: float
) -> tuple[float, float]:
    """Return bounds on `posterior_evidence`: exact tails take ten times as long.

    They are Chernoff's: P(tail) <= e^-D, where D is the deviance of the posterior's own
    mean from the threshold.  For Beta(a, b) it is (a + b) d(a/(a + b), tau), because (1
    - tau) G - tau H has the transform (1 - (1 - tau) s)^-a (1 + tau s)^-b, where G and
    H are gamma variables with the shapes a and b.  Below 0 the tail is the other one.
    """
    if threshold <= law.low or threshold >= law.high or not clients > 0.0:
        return 0.0, math.inf
    if law.code == GAUSSIAN:
        z = (clients * threshold - total) / (law.size * math.sqrt(clients))
        return _between(0.5 * z * z, z)
    a, b, share = posterior_parameters(law, clients, total, threshold)
    if law.code == GAMMA:
        return _between(deviance_term(a, b, b - a), a - b)
    if law.code == POISSON:
        return _between(deviance_term(a, b, b - a), b - a)
    if math.isnan(share):
        return 0.0, math.inf
    if a <= 0.0 or b <= 0.0:
        return 0.0, math.inf
    expected = (a + b) * share
    gap = expected - a
    return _between(deviance_term(a, expected, gap) + deviance_term(b, a + b - expected, -gap), gap)


@part
def _between(nats: float, gap: float) -> tuple[float, float]:
    """Return bounds on -log P(tail).

    The tail (gap > 0) or its complement has at most the probability e^-nats.
    """
    nats *= 1.0 - BOUND_MARGIN
    if gap > 0.0:
        return nats, math.inf
    return 0.0, -math.log1p(-math.exp(-nats)) if nats > BOUND_MARGIN else math.inf


@kernel
def log_mass(law: Law, mean: float, value: float) -> float:
    """Return log P(X = value) for a whole-number law; NaN for a continuous one."""
    if law.code == POISSON:
        return value * math.log(mean) - mean - math.lgamma(value + 1.0)
    if law.code == NEGATIVE_BINOMIAL:
        ways = math.lgamma(value + law.size) - math.lgamma(law.size) - math.lgamma(value + 1.0)
        return (
            ways
            + law.size * math.log(law.size / (law.size + mean))
            + value * math.log(mean / (law.size + mean))
        )
    if law.code == BINOMIAL:
        ways = (
            math.lgamma(law.size + 1.0)
            - math.lgamma(value + 1.0)
            - math.lgamma(law.size - value + 1.0)
        )
        return (
            ways
            + value * math.log(mean / law.size)
            + (law.size - value) * math.log1p(-mean / law.size)
        )
    return math.nan


@part
def log_survival(law: Law, mean: float, value: float) -> float:
    """Return log P(X > value) for a continuous law; NaN for a whole-number one.

    `mean` is the mean of the statistic.
    """
    if law.code == GAMMA:
        x = law.size * value / mean
        return -gamma_evidence(law.size, x, x - law.size, True)
    if law.code == GAUSSIAN:
        return -normal_evidence((value - mean) / law.size)
    return math.nan
