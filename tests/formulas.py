"""Evidence and patience by independent formulas: from definitions, sharing nothing with
the package.

Evidence takes a row of the matrix (its family), the rewards that were seen and a
threshold.  Patience takes a policy (its parameters), the rounds that have passed, the
known clients and the clients per round.  The test matrix demands both for each policy.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import integrate, optimize, stats

import profitable as pb
from profitable.policy.policies import Deterministic
from tests.kernels import reference

if TYPE_CHECKING:
    from tests.matrix import FamilyRow

Rewards = Sequence[float]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def divergence(row: "FamilyRow", x: float, y: float) -> float:
    """d(x, y) between the laws whose statistic has these means: the integral of (u -
    x)/V(u) from x to y.

    V is the variance of the statistic as a function of its mean, which is all there is
    to an exponential family. Towards a finite edge the integral goes in even steps of
    log(u - edge).
    """
    low, high = row.domain or row.family.mean_domain
    edge = low if y < x else high
    if math.isinf(edge) or x == edge:
        return integrate.quad(
            lambda u: (u - x) / row.variance(u), x, y, epsabs=0.0, epsrel=1e-8, limit=500
        )[0]

    def integrand(v: float) -> float:
        distance = (x - edge) * math.exp(-v)
        return (edge + distance - x) / row.variance(edge + distance) * -distance

    end = -math.log((y - edge) / (x - edge))
    return integrate.quad(integrand, 0.0, end, epsabs=0.0, epsrel=1e-8, limit=500)[0]


def bernoulli(x: float, y: float) -> float:
    return sum(p * math.log(p / q) for p, q in ((x, y), (1.0 - x, 1.0 - y)) if p > 0.0)


def average(row: "FamilyRow", rewards: Rewards) -> float:
    """Of the statistic: the law that fits best is the one whose statistic has this
    mean.
    """
    return math.fsum(row.statistic(reward) for reward in rewards) / len(rewards)


def kl(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-UCB: N d(mean, threshold) below the threshold."""
    mean, tau = average(row, rewards), row.of_mean(threshold)
    if row.sigma is not None:
        return likelihood_ratio(rewards, tau) * (1.0 - 2.0 / len(rewards)) if mean < tau else 0.0
    return len(rewards) * divergence(row, mean, tau) if mean < tau else 0.0


def likelihood_ratio(rewards: Rewards, tau: float) -> float:
    """log of the likelihood of the best normal law over that of the best normal law
    with mean tau, any spread.
    """

    def best(mean: float) -> float:
        def nats(log_sigma: float) -> float:
            return -float(stats.norm.logpdf(rewards, mean, math.exp(log_sigma)).sum())

        return -float(
            optimize.minimize_scalar(
                nats, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-9}
            ).fun
        )

    return best(math.fsum(rewards) / len(rewards)) - best(tau)


def kl_plus(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """kl-UCB+: log N more."""
    nats = kl(row, rewards, threshold)
    return nats + math.log(len(rewards)) if nats > 0.0 else 0.0


def posterior(row: "FamilyRow", rewards: Rewards, threshold: float) -> float:
    """-log P(mean >= threshold given the rewards)."""
    below, above = (math.fsum(masses) for _, masses in posterior_masses(row, rewards, threshold))
    return -math.log(above / (below + above))


def posterior_masses(
    row: "FamilyRow", rewards: Rewards, threshold: float
) -> list[tuple[list[float], list[float]]]:
    """Means of the statistic below and above the threshold, and how much of the
    posterior each stands for.

    It is likelihood times Jeffreys' prior.  The likelihood is that of the law that fits
    best times exp(-N d).  The prior is the root of the Fisher information 1/V, the
    curvature of d.
    """
    low, high = row.domain or row.family.mean_domain
    tau, best, number = row.of_mean(threshold), average(row, rewards), len(rewards)

    def density(mean: float) -> float:
        if not low + 1e-9 < mean < high - 1e-9:
            return 0.0
        if row.sigma is not None:
            return over_all_spreads(rewards, mean)
        nats = number * divergence(row, best, mean)
        return math.exp(-nats) / math.sqrt(row.variance(mean)) if nats < 700.0 else 0.0

    sides: list[tuple[list[float], list[float]]] = []
    for edge, sign in ((low, -1.0), (high, 1.0)):
        s, ds = 0.5 * (1.0 + NODES), 0.5 * WEIGHTS
        if math.isinf(edge):  # folded into s^2/(1 - s)^2
            distances, slopes = s**2 / (1.0 - s) ** 2, 2.0 * s / (1.0 - s) ** 3
        else:  # approached like (1 - s)^4, because the prior may be infinite there
            distances, slopes = (
                abs(edge - tau) * (1.0 - (1.0 - s) ** 4),
                4.0 * abs(edge - tau) * (1.0 - s) ** 3,
            )
        means = (tau + sign * distances).tolist()
        sides.append(
            (
                means,
                [
                    float(width) * density(mean)
                    for width, mean in zip(ds * slopes, means, strict=True)
                ],
            )
        )
    return sides


def expected_mean(row: "FamilyRow", rewards: Rewards) -> float:
    """The posterior's own mean of the rewards' mean; the mean of the law that fits best
    where it is infinite.
    """
    below, above = posterior_masses(row, rewards, row.threshold)
    pairs = [pair for side in (below, above) for pair in zip(*side, strict=True)]
    points = [(mean_of(row, value), mass) for value, mass in pairs if mass > 0.0]
    if any(mean == math.inf for mean, _ in points):
        return mean_of(row, average(row, rewards))
    return math.fsum(mean * mass for mean, mass in points) / math.fsum(mass for _, mass in points)


def mean_of(row: "FamilyRow", value: float) -> float:
    """The mean of the rewards when the statistic has this mean: where the row's own
    formula gives it.
    """
    if row.domain is None:
        return value
    low = row.family.mean_domain[0]
    if row.of_mean(low + 1e100) < value:
        return math.inf
    return low + math.exp(
        optimize.brentq(
            lambda u: row.of_mean(low + math.exp(u)) - value, -100.0, 230.0, xtol=1e-13, rtol=1e-13
        )
    )


def over_all_spreads(rewards: Rewards, mean: float) -> float:
    """The likelihood of a mean, integrated over sigma^2 with the prior density
    (sigma^2)^(-1 - alpha) at alpha = -1: 1.

    Up to a factor, by the trapezoidal rule in log sigma.
    """
    values = np.array(rewards)
    spread = float(((values - values.mean()) ** 2).mean())
    log_sigma = 0.5 * math.log(spread) + np.linspace(-4.0, 16.0, 2_001)
    squares = float(((values - mean) ** 2).sum())
    # d(sigma^2) is 2 sigma^2 d(log sigma)
    nats = len(rewards) * (log_sigma - 0.5 * math.log(spread)) + 0.5 * squares * np.exp(
        -2.0 * log_sigma
    )
    return float(np.exp(-nats + 2.0 * (log_sigma - 0.5 * math.log(spread))).sum())


def scaled(row: "FamilyRow", rewards: Rewards, threshold: float) -> tuple[list[float], float]:
    """Rewards and threshold as a policy for bounded rewards sees them: cut, and scaled
    to [0, 1].
    """
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

    return (
        float(optimize.brentq(excess, 0.0, 1e3 * number, xtol=1e-14, rtol=1e-14))
        if mean < tau
        else 0.0
    )


# ----------------------------------------------------------------------------- patience


def remembered(policy: pb.Policy, t: float) -> float:
    """The rounds that count after t of them, each with the weight of its outcomes."""
    if policy.forget < 1.0:
        oldest = math.log(1e-18) / math.log(policy.forget)  # what is older has no weight
        return math.fsum(policy.forget**age for age in range(int(min(t, oldest))))
    return min(t, math.inf if policy.window is None else float(policy.window))


def log_of_time(policy: pb.Policy, t: float, known: float, per_round: float) -> float:
    """log(inflate t) + c log log t; round 1 tolerates everything."""
    assert isinstance(policy, Deterministic)
    rounds = remembered(policy, t)
    if rounds == 0.0:
        return math.inf
    return math.log(policy.inflate * rounds) + policy.c * max(
        0.0, math.log(max(math.log(rounds), 1e-9))
    )


def drawn(policy: pb.Policy, t: float, known: float, per_round: float) -> float:
    """Not computed: evidence is tolerated with probability exp(-evidence)."""
    return math.inf


def worth_finding_out(policy: pb.Policy, t: float, known: float, per_round: float) -> float:
    """Return the value of M future clients after N known ones (docs/optimal.md)."""
    assert isinstance(policy, pb.Optimal)
    if known == 0.0:
        return math.inf
    all_ever = remembered(policy, math.inf)
    if policy.kappa is not None:
        rounds = policy.kappa * remembered(policy, t)
    elif policy.discount is not None:
        rounds = min(1.0 / math.log(1.0 / policy.discount), all_ever)
    else:
        assert isinstance(policy.horizon, int)
        rounds = min(max(0.0, policy.horizon - t), all_ever)
    s = 1.0 + (policy.clients or per_round) * rounds / known
    boundary = (s + 3.0 + 2.0 * math.sqrt(math.log(s) + math.log(s) ** 2)) / 2.0
    return max(math.log(2.0), math.log(boundary / policy.risk))
