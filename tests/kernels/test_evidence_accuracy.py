"""Divergences, posterior tails and evidence against mpmath: 1e-10 up to a million
clients, 1e-7 beyond.
"""

import itertools
import math
import os
import random

import mpmath as mp
import numpy as np
import pytest

import profitable as pb
from profitable.kernels import empirical, law
from profitable.kernels import evidence as rule
from tests.kernels import reference

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"  # make soak: the grid at full density

LAWS = {
    "bernoulli": law.Law(law.BINOMIAL, 0.0, 1.0, 1.0),
    "binomial": law.Law(law.BINOMIAL, 0.0, 12.0, 12.0),
    "bounded": law.Law(law.BINOMIAL, -1.0, 3.0, 1.0),
    "negative binomial": law.Law(law.NEGATIVE_BINOMIAL, size=2.5),
    "poisson": law.Law(law.POISSON),
    "exponential": law.Law(law.GAMMA, size=1.0),
    "gamma": law.Law(law.GAMMA, size=0.3),
    "gaussian": law.Law(law.GAUSSIAN, -math.inf, math.inf, 1.7),
}
# Thresholds this many standard errors above the mean: evidence from 1e-8 to 1e5 nats
# and beyond.
DEVIATIONS = (-8.0, -0.3, 1.4e-4, 1.0, 1.6, 30.0, 460.0)
if SOAK:
    DEVIATIONS = (
        -30.0,
        -8.0,
        -5.6,
        -3.1,
        -2.0,
        -1.49,
        -0.3,
        -1e-3,
        1e-5,
        1.4e-4,
        0.05,
        0.5,
        1.0,
        1.51,
        2.9,
        4.0,
        9.0,
        30.0,
        100.0,
        460.0,
    )
CLIENTS = (1, 7, 1_000, 10**6, 10**9)
if SOAK:
    CLIENTS = (1, 2, 7, 60, 199, 1_000, 40_000, 10**6, 10**9)


def tolerance(clients: float) -> float:
    return 1e-10 if clients <= 1e6 else 1e-7


def totals(numbers: law.Law, clients: int) -> list[float]:
    """Sums of rewards at, near and far from the edges of the mean domain."""
    code, low, high = numbers.code, numbers.low, numbers.high
    if code == law.BINOMIAL:
        width = (high - low) / numbers.size
        steps = {
            0,
            1,
            round(clients * numbers.size * 0.3),
            clients * numbers.size - 1,
            clients * numbers.size,
        }
        return sorted(
            {low * clients + width * k for k in steps if 0 <= k <= clients * numbers.size}
        )
    if code == law.GAUSSIAN:
        return [-2.0 * clients, 0.0, 0.7 * clients]
    if code == law.GAMMA:
        return [1e-9, 0.4 * clients, 25.0 * clients]
    return sorted({0.0, 1.0, float(round(0.6 * clients)), 30.0 * clients})


def thresholds(numbers: law.Law, clients: int, total: float) -> list[float]:
    low, high = numbers.low, numbers.high
    mean = total / clients
    variance = float(reference.variance_function(numbers)(mp.mpf(mean)))
    scale = math.sqrt(max(variance, 1e-3) / clients)
    points = {mean + z * scale for z in DEVIATIONS}
    points |= {low + 1e-6, high - 1e-6} if numbers.code == law.BINOMIAL else set()
    points |= {1e-9} if numbers.code not in (law.BINOMIAL, law.GAUSSIAN) else set()
    return sorted(point for point in points if low < point < high)


# Laws whose posterior is that of another one here, with another size or interval: two
# numbers of clients say as much.
SIMILAR = ("binomial", "bounded", "exponential")
POSTERIOR_GRID = [
    pytest.param(numbers, clients, id=f"{name}-{clients}")
    for name, numbers in LAWS.items()
    for clients in (CLIENTS if SOAK or name not in SIMILAR else (7, 10**6))
]
GRID = [
    pytest.param(numbers, clients, id=f"{name}-{clients}")
    for name, numbers in LAWS.items()
    for clients in CLIENTS
]


def assert_close(value: float, truth: mp.mpf, clients: float, what: object) -> None:
    assert value >= 0.0, what
    if truth < mp.mpf("1e-290"):  # underflow: positive, and as good as nothing
        assert value < 1e-280, what
    elif truth > mp.mpf("1e300"):
        assert value == math.inf or value > 1e290, what
    else:
        assert abs(value / truth - 1) < tolerance(clients), (what, value, mp.nstr(truth, 15))


@pytest.mark.parametrize(("numbers", "clients"), GRID)
def test_deviance(numbers: law.Law, clients: int) -> None:
    checked = 0
    for total in totals(numbers, clients):
        for threshold in thresholds(numbers, clients, total):
            truth = reference.deviance(numbers, clients, total, threshold)
            if total / clients == threshold:
                continue
            value = law.deviance(numbers, float(clients), total, threshold)
            assert_close(value, truth, clients, (clients, total, threshold))
            one_sided = law.against(numbers, float(clients), total, threshold)
            assert one_sided == (value if total / clients < threshold else 0.0)
            checked += 1
    assert checked >= 8


@pytest.mark.slow
@pytest.mark.parametrize(("numbers", "clients"), POSTERIOR_GRID)
def test_posterior_evidence(numbers: law.Law, clients: int) -> None:
    checked = 0
    for total in totals(numbers, clients):
        for threshold in thresholds(numbers, clients, total):
            truth = reference.posterior_evidence(numbers, clients, total, threshold)
            value = law.posterior_evidence(numbers, float(clients), total, threshold, 0.0)
            assert_close(value, truth, clients, (clients, total, threshold))
            checked += 1
    assert checked >= 8


@pytest.mark.parametrize("numbers", LAWS.values(), ids=LAWS)
def test_divergence_is_the_integral_of_the_variance_function(numbers: law.Law) -> None:
    for x, y in ((0.2, 0.9), (0.5, 0.50001), (0.7, 0.1)):
        truth = reference.divergence_by_quadrature(numbers, x, y)
        assert abs(law.deviance(numbers, 1.0, x, y) / truth - 1) < 1e-11
        assert abs(reference.deviance(numbers, 1, x, y) / truth - 1) < mp.mpf("1e-15")


# Rewards of about a million that differ in thousandths: their sum is rounded where the
# gap to tau is.
BASE = 1e6
NEAR = [BASE + 0.001 * ((i * 7) % 11) for i in range(30)]
FAR_FROM_ZERO = {
    "gaussian": (pb.Gaussian(sigma=1.0), NEAR),
    "exponential": (pb.Exponential(), NEAR),
    "bounded": (pb.Bounded(low=BASE - 1.0, high=BASE + 2.0), NEAR),
    "two points": (
        pb.Bounded(low=BASE + 0.001, high=BASE + 0.011),
        [BASE + 0.001] * 18 + [BASE + 0.011] * 12,
    ),
}


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        *itertools.product(FAR_FROM_ZERO, ("kl-ucb", "bayes-ucb")),
        *itertools.product(("bounded", "two points"), ("kl-emp-ucb", "ucb-v")),
    ],
)
def test_evidence_of_rewards_far_from_zero(name: str, policy: str) -> None:
    """Evidence uses the rounding error of a sum; else it would be off by 4e-7."""
    family, rewards = FAR_FROM_ZERO[name]
    for threshold in (BASE + 0.0053, BASE + 0.0061, BASE + 0.0093):
        agent = pb.Agent([pb.Category("it", family, threshold=threshold)], policy=policy)
        for reward in rewards:
            agent.observe("it", [reward])
        numbers, clients = family.make_view().law, len(rewards)
        total = mp.fsum(map(mp.mpf, rewards))
        if policy == "bayes-ucb":
            truth = reference.posterior_evidence(numbers, clients, total, threshold)
        elif policy == "kl-emp-ucb":
            truth = reference.empirical_evidence(rewards, [1.0] * clients, numbers.high, threshold)
        elif policy == "kl-ucb":
            truth = reference.deviance(numbers, clients, total, threshold)
        else:
            spread = mp.fsum((mp.mpf(reward) - total / clients) ** 2 for reward in rewards)
            linear, width = (
                mp.sqrt(2 * spread) / clients,
                3 * (mp.mpf(numbers.high) - mp.mpf(numbers.low)) / clients,
            )
            gap = mp.mpf(threshold) - total / clients
            truth = ((mp.sqrt(linear**2 + 4 * width * gap) - linear) / (2 * width)) ** 2
        assert_close(agent["it"].evidence, truth, clients, (name, policy, threshold))


@pytest.mark.parametrize("numbers", LAWS.values(), ids=LAWS)
def test_posterior_is_likelihood_times_jeffreys_prior(numbers: law.Law) -> None:
    """The conjugate forms are right: integrate exp(-N d(m, mu)) / sqrt(V(mu)) itself
    over the mean domain.
    """
    variance = reference.variance_function(numbers)
    low, high = numbers.low, numbers.high
    for clients, mean, threshold in ((3, 0.5, 0.8), (12, 0.75, 0.4)):
        total = clients * mean

        def density(mu: mp.mpf, clients: int = clients, total: float = total) -> mp.mpf:
            return mp.exp(-reference.deviance(numbers, clients, total, mu)) / mp.sqrt(variance(mu))

        with mp.workdps(25):
            upper = mp.quad(
                density,
                [threshold, threshold + 0.05, 1.0, 2.0, 8.0, 40.0, mp.inf]
                if high == math.inf
                else [threshold, (threshold + high) / 2, high],
            )
            lower = mp.quad(
                density,
                [-mp.inf, -2.0, 0.0, threshold]
                if low == -math.inf
                else [low, low + 0.01, low + 0.1, threshold],
            )
        truth = -mp.log(upper / (upper + lower))
        assert (
            abs(law.posterior_evidence(numbers, float(clients), total, threshold, 0.0) / truth - 1)
            < 1e-9
        )


def test_plus_adds_log_clients_below_the_threshold_only() -> None:
    bernoulli = LAWS["bernoulli"]
    for clients, total in ((10.0, 2.0), (1e9, 1e8)):
        plain = rule.evidence_of_sums(rule.DIVERGENCE, bernoulli, clients, total, 0.0, 0.5, 0.0)
        plus = rule.evidence_of_sums(rule.DIVERGENCE_PLUS, bernoulli, clients, total, 0.0, 0.5, 0.0)
        assert plus == plain + math.log(clients)
    assert rule.evidence_of_sums(rule.DIVERGENCE_PLUS, bernoulli, 10.0, 6.0, 0.0, 0.5, 0.0) == 0.0


def variance_evidence(
    clients: float, total: float, spread: float, width: float, threshold: float
) -> float:
    seen = rule.sums(clients, total)._replace(spread=spread)
    return rule.variance_evidence(law.Law(law.BINOMIAL, 0.0, width, 1.0), seen, threshold)


def test_variance_rule_solves_its_equation() -> None:
    rng = random.Random(3)
    for clients in (1.0, 5.0, 1e3, 1e6, 1e9):
        for _ in range(40):
            width = rng.choice((1.0, 100.0))
            mean = rng.random() * 0.7 * width
            spread = rng.random() * mean * (width - mean) * clients * rng.choice((0.0, 1e-6, 1.0))
            threshold = mean + (width - mean) * 10.0 ** rng.uniform(-4, 0)
            total = mean * clients
            value = variance_evidence(clients, total, spread, width, threshold)
            x, n = mp.mpf(value), mp.mpf(clients)
            gap = mp.mpf(threshold) - mp.mpf(total) / n
            bonus = mp.sqrt(2 * mp.mpf(spread) / n * x / n) + 3 * mp.mpf(width) * x / n
            assert abs(bonus / gap - 1) < tolerance(clients)


def test_variance_rule_is_not_monotone_as_the_design_page_says() -> None:
    assert variance_evidence(101.0, 50.0, 50 * 0.5 - 50.0**2 / 101, 1.0, 0.6) == pytest.approx(
        3.12, abs=0.005
    )
    assert variance_evidence(101.0, 50.5, 0.0, 1.0, 0.6) == pytest.approx(3.37, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("clients", [1, 3, 50, 10**6, 10**9])
def test_empirical_evidence(clients: int) -> None:
    rng = random.Random(clients)
    for trial in range(30 if SOAK else 10):
        size = min(clients, rng.choice((1, 2, 5, 20)))
        values = sorted(
            {rng.choice((0.0, rng.random(), rng.random() ** 6, 1.0)) for _ in range(size)}
        )
        share = [rng.random() for _ in values]
        counts = [max(1.0, float(round(clients * part / sum(share)))) for part in share]
        mean = sum(v * c for v, c in zip(values, counts, strict=True)) / sum(counts)
        spread = (
            math.sqrt(
                sum(c * (v - mean) ** 2 for v, c in zip(values, counts, strict=True)) / sum(counts)
            )
            + 1e-3
        )
        points = [mean + z * spread / math.sqrt(sum(counts)) for z in (1.4e-4, 0.1, 1.0, 5.0, 50.0)]
        for threshold in (*points, 1 - 1e-4, 1 - 1e-9, 1 - 1e-14):
            if not mean < threshold < 1.0:
                continue
            truth = reference.empirical_evidence(values, counts, 1.0, threshold)
            value = empirical.empirical_evidence(np.array(values), np.array(counts), 1.0, threshold)
            assert_close(value, truth, sum(counts), (trial, values, counts, threshold))


@pytest.mark.parametrize(
    ("numbers", "x", "y", "limit"),
    [
        (LAWS["bernoulli"], 0.0, 0.3, -math.log(0.7)),
        (LAWS["bernoulli"], 1.0, 0.3, -math.log(0.3)),
        (LAWS["bernoulli"], 0.5, 1.0, math.inf),
        (LAWS["bernoulli"], 0.5, 0.0, math.inf),
        (LAWS["bernoulli"], 0.0, 0.0, 0.0),
        (LAWS["bernoulli"], 1.0, 1.0, 0.0),
        (LAWS["bernoulli"], 0.0, 1.0, math.inf),
        (LAWS["poisson"], 0.0, 2.0, 2.0),
        (LAWS["poisson"], 2.0, 0.0, math.inf),
        (LAWS["poisson"], 0.0, 0.0, 0.0),
        (LAWS["exponential"], 0.0, 2.0, math.inf),
        (LAWS["exponential"], 2.0, 0.0, math.inf),
        (LAWS["exponential"], 2.0, math.inf, math.inf),
        (LAWS["negative binomial"], 0.0, 2.5, 2.5 * math.log(2.0)),
        (LAWS["negative binomial"], 1.0, 0.0, math.inf),
        (LAWS["bounded"], -1.0, 1.0, math.log(2.0)),
        (LAWS["bounded"], 3.0, 3.0, 0.0),
    ],
)
def test_limits_at_the_edges(numbers: law.Law, x: float, y: float, limit: float) -> None:
    assert law.deviance(numbers, 1.0, x, y) == pytest.approx(limit, rel=1e-14)


@pytest.mark.parametrize("distance", [1e-9, 1e-7, 1e-3, 0.5, 40.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_divergence_of_transformed_families(distance: float, side: float) -> None:
    """Pareto and Weibull: the closed form of the transformed means at 60 digits, from
    the means as doubles.
    """
    for family in (pb.Pareto(scale=2.0), pb.Weibull(shape=0.6), pb.Weibull(shape=40.0)):
        x = 3.0
        y = x * (1.0 + side * distance) if side * distance > -0.3 else x / (1.0 + distance)
        if y <= family.mean_domain[0]:
            continue
        with mp.workdps(60):
            if isinstance(family, pb.Pareto):
                ratio = (1 - 2 / mp.mpf(x)) / (1 - 2 / mp.mpf(y))
            else:
                assert isinstance(family, pb.Weibull)
                ratio = (mp.mpf(x) / mp.mpf(y)) ** mp.mpf(family.shape)
            truth = ratio - 1 - mp.log(ratio)
        assert family.divergence(x, y) == pytest.approx(float(truth), rel=1e-10)
