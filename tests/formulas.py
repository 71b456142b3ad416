"""Evidence by independent formulas: from definitions, sharing nothing with the package.

A formula takes a row of the matrix (its family), the rewards that were seen and a threshold.  The test matrix demands
one for each policy.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import integrate, optimize, stats

from tests.kernels import reference

if TYPE_CHECKING:
    from tests.matrix import FamilyRow

Rewards = Sequence[float]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def divergence(row: "FamilyRow", x: float, y: float) -> float:
    """d(x, y) between the laws whose statistic has these means: the integral of (u - x)/V(u) from x to y.

    V is the variance of the statistic as a function of its mean, which is all there is to an exponential family.
    Towards a finite edge the integral goes in even steps of log(u - edge).
    """
    low, high = row.domain or row.family.mean_domain
    edge = low if y < x else high
    if math.isinf(edge) or x == edge:
        return integrate.quad(lambda u: (u - x) / row.variance(u), x, y, epsabs=0.0, epsrel=1e-8, limit=500)[0]

    def integrand(v: float) -> float:
        distance = (x - edge) * math.exp(-v)
        return (edge + distance - x) / row.variance(edge + distance) * -distance

    end = -math.log((y - edge) / (x - edge))
    return integrate.quad(integrand, 0.0, end, epsabs=0.0, epsrel=1e-8, limit=500)[0]


def bernoulli(x: float, y: float) -> float:
    return sum(p * math.log(p / q) for p, q in ((x, y), (1.0 - x, 1.0 - y)) if p > 0.0)


def average(row: "FamilyRow", rewards: Rewards) -> float:
    """Of the statistic: the law that fits best is the one whose statistic has this mean."""
    return math.fsum(row.statistic(reward) for reward in rewards) / len(rewards)


def kl(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-UCB: N d(mean, threshold) below the threshold."""
    mean, tau = average(row, rewards), row.of_mean(threshold)
    if row.sigma is not None:
        return likelihood_ratio(rewards, tau) * (1.0 - 2.0 / len(rewards)) if mean < tau else 0.0
    return len(rewards) * divergence(row, mean, tau) if mean < tau else 0.0


def likelihood_ratio(rewards: Rewards, tau: float) -> float:
    """log of the likelihood of the best normal law over that of the best normal law with mean tau, any spread."""

    def best(mean: float) -> float:
        def nats(log_sigma: float) -> float:
            return -float(stats.norm.logpdf(rewards, mean, math.exp(log_sigma)).sum())

        return -float(
            optimize.minimize_scalar(nats, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-9}).fun
        )

    return best(math.fsum(rewards) / len(rewards)) - best(tau)


def kl_plus(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-UCB+: log N more."""
    nats = kl(row, rewards, threshold)
    return nats + math.log(len(rewards)) if nats > 0.0 else 0.0


def posterior(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """-log P(mean >= threshold): likelihood times Jeffreys' prior, integrated over the mean of the statistic.

    The likelihood is that of the law that fits best times exp(-N d).  The prior is the root of the Fisher information
    1/V, the curvature of d.
    """
    low, high = row.domain or row.family.mean_domain
    tau, best, number = row.of_mean(threshold), average(row, rewards), len(rewards)

    def mass(distance: float, sign: float) -> float:
        mean = tau + sign * distance
        if not low + 1e-9 < mean < high - 1e-9:
            return 0.0
        if row.sigma is not None:
            return over_all_spreads(rewards, mean)
        nats = number * divergence(row, best, mean)
        return math.exp(-nats) / math.sqrt(row.variance(mean)) if nats < 700.0 else 0.0

    sides: list[float] = []
    for edge, sign in ((low, -1.0), (high, 1.0)):
        s, ds = 0.5 * (1.0 + NODES), 0.5 * WEIGHTS
        if math.isinf(edge):  # folded into s^2/(1 - s)^2
            distances, slopes = s**2 / (1.0 - s) ** 2, 2.0 * s / (1.0 - s) ** 3
        else:  # approached like (1 - s)^4, because the prior may be infinite there
            distances, slopes = abs(edge - tau) * (1.0 - (1.0 - s) ** 4), 4.0 * abs(edge - tau) * (1.0 - s) ** 3
        sides.append(float((ds * slopes) @ [mass(distance, sign) for distance in distances.tolist()]))
    return -math.log(sides[1] / sum(sides))


def over_all_spreads(rewards: Rewards, mean: float) -> float:
    """The likelihood of a mean, integrated over sigma^2 with the prior density (sigma^2)^(-1 - alpha) at alpha = -1: 1.

    Up to a factor, by the trapezoidal rule in log sigma.
    """
    values = np.array(rewards)
    spread = float(((values - values.mean()) ** 2).mean())
    log_sigma = 0.5 * math.log(spread) + np.linspace(-4.0, 16.0, 2_001)
    squares = float(((values - mean) ** 2).sum())
    # d(sigma^2) is 2 sigma^2 d(log sigma)
    nats = len(rewards) * (log_sigma - 0.5 * math.log(spread)) + 0.5 * squares * np.exp(-2.0 * log_sigma)
    return float(np.exp(-nats + 2.0 * (log_sigma - 0.5 * math.log(spread))).sum())


def scaled(row: "FamilyRow", rewards: Rewards, threshold: float) -> tuple[list[float], float]:
    """Rewards and threshold as a policy for bounded rewards sees them: cut, and scaled to [0, 1]."""
    low, high = row.interval
    cut = [(min(max(reward, low), high) - low) / (high - low) for reward in rewards]
    return cut, (threshold - low) / (high - low)


def kl_bernoulli(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-Bernoulli-UCB: the Bernoulli divergence of scaled rewards."""
    values, tau = scaled(row, rewards, threshold)
    mean = math.fsum(values) / len(values)
    return len(values) * bernoulli(mean, tau) if mean < tau else 0.0


def kl_bernoulli_plus(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-Bernoulli-UCB+: log N more."""
    nats = kl_bernoulli(row, rewards, threshold)
    return nats + math.log(len(rewards)) if nats > 0.0 else 0.0


def kl_gaussian(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-Gaussian-UCB: 2 N (threshold - mean)^2 of scaled rewards."""
    values, tau = scaled(row, rewards, threshold)
    return 2.0 * len(values) * max(0.0, tau - math.fsum(values) / len(values)) ** 2


def empirical(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """KL-Emp-UCB: N K_inf by bisection at 60 digits."""
    values, tau = scaled(row, rewards, threshold)
    return float(reference.empirical_evidence(values, [1.0] * len(values), 1.0, tau))


def ucb_v(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """UCB-V: the root of m + sqrt(2 v x/N) + 3 x/N = threshold, of scaled rewards."""
    values, tau = scaled(row, rewards, threshold)
    number, mean, variance = len(values), float(np.mean(values)), float(np.var(values))

    def excess(x: float) -> float:
        return mean + math.sqrt(2.0 * variance * x / number) + 3.0 * x / number - tau

    return float(optimize.brentq(excess, 0.0, 1e3 * number, xtol=1e-14, rtol=1e-14)) if mean < tau else 0.0
