"""The five laws behind all families, as (clients, total, threshold) -> nats.

A law is an integer code and three numbers `p0, p1, p2`; every family of `families.py` is one of these five, seen
through a statistic:

| code                | p0      | p1    | p2                   | families                                   |
| ------------------- | ------- | ----- | -------------------- | ------------------------------------------ |
| `BINOMIAL`          | low     | high  | trials in high - low | Bernoulli, Binomial, Bounded               |
| `NEGATIVE_BINOMIAL` | failures|       |                      | Geometric, NegativeBinomial                |
| `POISSON`           |         |       |                      | Poisson                                    |
| `GAMMA`             | shape   |       |                      | Exponential, Gamma, and Pareto and Weibull |
| `GAUSSIAN`          | sigma   |       |                      | Gaussian                                   |

Notation of the paper: N clients, S the sum of their statistics, tau the threshold, d the divergence (eq. 3).
Everything is written with the shortfall N tau - S, whose product is formed exactly: near S/N = tau the plain formula
N d(S/N, tau) has lost all its digits long before N = 10^9.
"""

import math

from profitable.kernels.compile import kernel
from profitable.kernels.special import beta_evidence, deviance_term, excess, gamma_evidence, normal_evidence

BINOMIAL = 0
NEGATIVE_BINOMIAL = 1
POISSON = 2
GAMMA = 3
GAUSSIAN = 4

SMALLEST_POSITIVE = 5e-324
SMALLEST_RATIO = 1e-300
SMALLEST_PARAMETER = 1e-3  # of a beta posterior; no prior has less (profitable/prior.py)
SPLITTER = 134217729.0  # 2^27 + 1: Dekker's splitting of a double into two halves


@kernel
def exact_product(x: float, y: float) -> tuple[float, float]:
    """x * y as a rounded product and its rounding error (Dekker)."""
    product = x * y
    if not abs(product) < 1e290:
        return product, 0.0
    c = SPLITTER * x
    x_high = c - (c - x)
    x_low = x - x_high
    c = SPLITTER * y
    y_high = c - (c - y)
    y_low = y - y_high
    return product, x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


@kernel
def exact_sum(x: float, y: float) -> tuple[float, float]:
    """x + y as a rounded sum and its rounding error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@kernel
def shortfall(clients: float, mean: float, total: float) -> float:
    """clients * mean - total, with the product exact and the difference rounded once."""
    product, error = exact_product(clients, mean)
    return (product - total) + error


@kernel
def is_below(clients: float, total: float, threshold: float) -> bool:
    """Whether the mean S/N is below the threshold: as doubles, since 2 of 5 is no less than 0.4; and exactly."""
    return total / clients < threshold and shortfall(clients, threshold, total) > 0.0


@kernel
def mean_low(law: int, p0: float, p1: float, p2: float) -> float:
    """The lower edge of the law's mean domain."""
    if law == BINOMIAL:
        return p0
    if law == GAUSSIAN:
        return -math.inf
    return 0.0


@kernel
def mean_high(law: int, p0: float, p1: float, p2: float) -> float:
    """The upper edge of the law's mean domain."""
    return p1 if law == BINOMIAL else math.inf


@kernel
def deviance(law: int, p0: float, p1: float, p2: float, clients: float, total: float, mean: float) -> float:
    """N d(S/N, mean), on both sides of the mean; `deviance(..., 1, x, y)` is the divergence d(x, y) of eq. (3)."""
    gap = shortfall(clients, mean, total)
    if law == GAUSSIAN:
        return gap / p0 * (gap / p0) / (2.0 * clients)
    if gap == 0.0:
        return 0.0
    expected = clients * mean
    if law == POISSON:
        return deviance_term(total, expected, gap)
    if law == GAMMA:
        if total <= 0.0 or mean <= 0.0 or mean == math.inf:
            return math.inf
        ratio = total / expected
        if ratio < SMALLEST_RATIO:
            return p0 * clients * (math.log(expected) - math.log(total) - 1.0)
        return p0 * clients * excess(-gap / expected, ratio)
    if law == NEGATIVE_BINOMIAL:
        failures = p0 * clients
        if mean == math.inf:
            return math.inf
        both = failures + total
        gap *= p0 / (p0 + mean)
        return deviance_term(total, both * (mean / (p0 + mean)), gap) + deviance_term(
            failures, both * (p0 / (p0 + mean)), -gap
        )
    unit = p2 / (p1 - p0)
    successes = max(0.0, -shortfall(clients, p0, total)) * unit
    failures = max(0.0, shortfall(clients, p1, total)) * unit
    return deviance_term(successes, clients * (mean - p0) * unit, gap * unit) + deviance_term(
        failures, clients * (p1 - mean) * unit, -gap * unit
    )


@kernel
def against(law: int, p0: float, p1: float, p2: float, clients: float, total: float, threshold: float) -> float:
    """N d(S/N, tau) if S/N < tau, else 0: the evidence of kl-UCB-4P."""
    if clients <= 0.0 or not is_below(clients, total, threshold):
        return 0.0
    return deviance(law, p0, p1, p2, clients, total, threshold)


@kernel
def _tail_evidence(law: int, p0: float, p1: float, p2: float, clients: float, total: float, threshold: float) -> float:
    gap = shortfall(clients, threshold, total)
    if law == BINOMIAL:
        unit = p2 / (p1 - p0)
        # A sum of edges may be rounded beyond its edge, and a prior may take almost everything from the two halves.
        a = max(0.5 - shortfall(clients, p0, total) * unit, SMALLEST_PARAMETER)
        b = max(0.5 + shortfall(clients, p1, total) * unit, SMALLEST_PARAMETER)
        x = (threshold - p0) / (p1 - p0)
        y = (p1 - threshold) / (p1 - p0)
        return beta_evidence(a, b, x, y, 0.5 - x - gap * unit)
    if law == NEGATIVE_BINOMIAL:
        both = p0 + threshold
        return beta_evidence(total + 0.5, p0 * clients, threshold / both, p0 / both, (0.5 - gap) * (p0 / both))
    if law == POISSON:
        return gamma_evidence(total + 0.5, clients * threshold, gap - 0.5, True)
    if law == GAMMA:
        return gamma_evidence(p0 * clients, p0 * total / threshold, -gap / threshold * p0, False)
    return normal_evidence(gap / (p0 * math.sqrt(clients)))


@kernel
def posterior_evidence(
    law: int, p0: float, p1: float, p2: float, clients: float, total: float, threshold: float
) -> float:
    """-log P(mean >= threshold) under the Jeffreys posterior after `clients` clients with sum `total`.

    A conjugate prior other than Jeffreys' is imaginary clients on top of it, so that both numbers may be fractional,
    and even slightly negative.  With no client at all nothing speaks against the category: 0.  With any, something
    does, and it stays positive even where it underflows: the quantile of order 0 (Bayes-UCB at t = 1) accepts nobody.
    """
    if clients == 0.0 and total == 0.0:
        return 0.0
    if threshold <= mean_low(law, p0, p1, p2):
        return 0.0
    if threshold >= mean_high(law, p0, p1, p2):
        return math.inf
    return max(_tail_evidence(law, p0, p1, p2, clients, total, threshold), SMALLEST_POSITIVE)
