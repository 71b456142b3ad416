"""The closed forms against mpmath, SciPy and plain simulation."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize

import profitable as pb
from profitable.errors import InputError
from profitable.paper.asymptotics import (
    clients_by,
    expected_slope,
    unlucky_at_least,
    unlucky_slope,
)
from profitable.paper.experiment import load
from profitable.theory.unlucky_start import (
    TAIL_OF_DIVERGENCE,
    TAIL_OF_DIVERGENCE_PLUS,
    TAIL_OF_POSTERIOR,
    sum_of_weights,
    unlucky_rate,
)
from profitable.theory.waits import exponential_waits


@pytest.mark.parametrize("logarithms", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("log_t", [5.0, 27.6])
def test_clients_by(logarithms: float, log_t: float) -> None:
    root = optimize.brentq(lambda n: n * 0.0204 + logarithms * math.log(n) - log_t, 1.0, 1e5)
    assert clients_by(0.0204, logarithms, log_t) == pytest.approx(root, rel=1e-9)


def test_expected_slope_tends_to_the_lower_bound() -> None:
    scenario = load("bernoulli").scenario
    constant = scenario.lower_bound().total
    assert expected_slope(scenario, "kl-ucb", 1e6, 1e12) == pytest.approx(constant, rel=1e-9)
    slopes = [
        expected_slope(scenario, "kl-ucb+", 10.0**k, 10.0 ** (2 * k)) for k in (2, 6, 60, 120)
    ]
    assert slopes == sorted(slopes)
    assert slopes[-1] < constant < 1.02 * slopes[-1]
    for policy in ("ucb-v", "optimal", "kl-ucb:c=3"):
        with pytest.raises(InputError, match="has no closed form"):
            expected_slope(scenario, policy, 1e6, 1e12)


ONE = np.ones(2_000)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.75])
def test_sum_of_weights(ratio: float) -> None:
    assert sum_of_weights(TAIL_OF_POSTERIOR, ratio, 1.0, ONE) == pytest.approx(
        ratio / (1.0 - ratio)
    )
    lambert = float(mpmath.lambertw(-ratio / mpmath.e))  # sum of n^n x^n / n! is 1/(1 + W(-x)) - 1
    assert sum_of_weights(TAIL_OF_DIVERGENCE, ratio, 1.0, ONE) == pytest.approx(
        1.0 / (1.0 + lambert) - 1.0, rel=1e-9
    )
    # n times the terms: x d/dx of that sum, -x W'(-x) ... by a difference
    step = 1e-6

    def whole(x: float) -> float:
        return 1.0 / (1.0 + float(mpmath.lambertw(-x / mpmath.e))) - 1.0

    slope = ratio * (whole(ratio + step) - whole(ratio - step)) / (2.0 * step)
    assert sum_of_weights(TAIL_OF_DIVERGENCE_PLUS, ratio, 1.0, ONE) == pytest.approx(
        slope, rel=1e-6
    )


def test_sum_of_weights_with_random_arrivals() -> None:
    """phi/(1 - phi) with phi = E[r^C], C - 1 ~ Poisson(4); and shape 2 is like twice
    the clients.
    """
    truth = load("exponential").scenario.truths[1]
    phi = 0.5 * math.exp(-4.0 * 0.5)
    rate = unlucky_rate(pb.ThompsonSampling(), truth.category, truth.mean, truth.clients.seen)
    assert rate == pytest.approx(phi / (1.0 - phi), rel=1e-9)
    assert sum_of_weights(TAIL_OF_POSTERIOR, 0.5, 2.0, ONE) == pytest.approx(0.25 / 0.75)
    assert sum_of_weights("", 0.5, 1.0, ONE) == 0.0


def test_unlucky_slope() -> None:
    # Profitable: means 2 and 4, thresholds 1 and 3, 5 and 7 clients a round.
    scenario = load("exponential").scenario
    phis = (0.5 * math.exp(-4.0 * 0.5), 0.75 * math.exp(-6.0 * 0.25))
    expected = sum(
        clients * phi / (1.0 - phi) for clients, phi in zip((5.0, 7.0), phis, strict=True)
    )
    assert unlucky_slope(scenario, "ts") == pytest.approx(expected, rel=1e-9)
    assert unlucky_slope(scenario, "kl-ucb:c=3") == 0.0
    assert unlucky_slope(scenario, "kl-ucb+:inflate=10") == pytest.approx(
        unlucky_slope(scenario, "kl-ucb+") / 10.0
    )
    assert unlucky_slope(load("poisson").scenario, "ts") == 0.0


def test_first_wait() -> None:
    """P(still rejected after k draws), by quadrature over the first reward."""

    def still(k: int) -> float:
        return integrate.quad(lambda x: 0.5 * math.exp(-0.5 * x) * math.exp(-k * x), 0.0, math.inf)[
            0
        ]

    assert unlucky_at_least(0.5, 6) == pytest.approx(sum(still(k) for k in range(1, 6)), rel=1e-9)
    assert unlucky_at_least(0.5, 10**6) - unlucky_at_least(0.5, 10**5) == pytest.approx(
        0.5 * math.log(10.0), rel=1e-4
    )


@pytest.mark.statistical
def test_between_the_two_bounds() -> None:
    """Thompson sampling by its posterior draws: rejected rounds up to 100, at 5
    standard errors.
    """
    rng = np.random.default_rng(3)
    runs = 20_000
    clients, total, rejected = np.ones(runs), rng.exponential(2.0, runs), np.zeros(runs)
    for _ in range(99):
        accepts = total / rng.gamma(clients) >= 1.0
        rejected += ~accepts
        total += np.where(accepts, rng.exponential(2.0, runs), 0.0)
        clients += accepts
    error = rejected.std() / math.sqrt(runs)
    assert (
        unlucky_at_least(0.5, 100)
        < rejected.mean()
        < exponential_waits(0.5, 1e12).mean(99) + 5.0 * error
    )
