"""Mean regret against an implementation that shares nothing with the package
(`independent.py`).

Two means of independent runs are compared at 5 standard errors: 27 cases and two
kernels, a false alarm for one seed in 32 000.
"""

import numpy as np
import pytest

import profitable as pb
from tests.simulation import independent as plain
from tests.simulation.worlds import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON, paper

pytestmark = pytest.mark.statistical
BOUND = 15.0  # of the Poisson and Exponential rewards: low enough to be reached
WIDE = 1e4


def bernoulli(rng: np.random.Generator, mean: float, size: int) -> np.ndarray:
    return (rng.random(size) < mean).astype(float)


def poisson(rng: np.random.Generator, mean: float, size: int) -> np.ndarray:
    return rng.poisson(mean, size).astype(float)


def exponential(rng: np.random.Generator, mean: float, size: int) -> np.ndarray:
    return rng.exponential(mean, size)


def gaussian(rng: np.random.Generator, mean: float, size: int) -> np.ndarray:
    return rng.normal(mean, 1.0, size)


d_b, d_p, d_e = plain.d_bernoulli, plain.d_poisson, plain.d_exponential
BOUNDED = {
    "kl-bernoulli-ucb": plain.kl_ucb(d_b, 1.0, scale=BOUND),
    "kl-bernoulli-ucb+": plain.kl_ucb(d_b, 1.0, scale=BOUND, plus=True),
    "kl-gaussian-ucb": plain.kl_gaussian(BOUND),
    "ucb-v": plain.ucb_v(BOUND),
}
CASES = {
    "bernoulli": (
        bernoulli,
        BERNOULLI,
        {
            "kl-ucb": plain.kl_ucb(d_b, 1.0),
            "kl-ucb:c=3": plain.kl_ucb(d_b, 1.0, c=3.0),
            "kl-ucb+": plain.kl_ucb(d_b, 1.0, plus=True),
            "bayes-ucb": plain.bayes_bernoulli,
            "ts": plain.thompson_bernoulli,
            "kl-gaussian-ucb": plain.kl_gaussian(1.0),
            "kl-emp-ucb": plain.kl_ucb(d_b, 1.0),
            "ucb-v": plain.ucb_v(1.0),
        },
    ),
    "poisson": (
        poisson,
        POISSON,
        {
            "kl-ucb": plain.kl_ucb(d_p, WIDE),
            "kl-ucb+": plain.kl_ucb(d_p, WIDE, plus=True),
            "bayes-ucb": plain.bayes_poisson,
            "ts": plain.thompson_poisson,
            **BOUNDED,
        },
    ),
    "exponential": (
        exponential,
        EXPONENTIAL,
        {
            "kl-ucb": plain.kl_ucb(d_e, WIDE),
            "bayes-ucb": plain.bayes_exponential,
            "ts": plain.thompson_exponential,
            **BOUNDED,
        },
    ),
    "gaussian": (
        gaussian,
        GAUSSIAN,
        {
            "kl-ucb": plain.kl_ucb(lambda x, y: (x - y) ** 2 / 2.0, WIDE),
            "bayes-ucb": plain.bayes_gaussian,
            "ts": plain.thompson_gaussian,
        },
    ),
}
NAMES = [(family, policy) for family, (_, _, policies) in CASES.items() for policy in policies]


def compare(
    family: str, policy: str, index: plain.Index, horizon: int, runs: int, values: int = 1
) -> None:
    draw, law, _ = CASES[family]
    bounded = family in ("poisson", "exponential") and (policy in BOUNDED or policy == "kl-emp-ucb")
    scenario = paper(family, law, BOUND if family in ("poisson", "exponential") else None)
    numbers = (list(law[1]), list(law[2]), [3.0, 4.0, 5.0, 6.0, 7.0])
    bound = BOUND if bounded else np.inf
    there, error_there = plain.mean_regret(
        index, draw, *numbers, horizon=horizon, runs=runs, seed=5, bound=bound, values=values
    )
    for kernel, seed in (("events", 21), ("rounds", 22)):
        curve = pb.simulate(
            scenario, [policy], horizon=horizon, runs=10 * runs, seed=seed, kernel=kernel
        )[policy]
        error = np.hypot(error_there, curve.stderr[-1])
        assert abs(there - curve.regret[-1]) < 5.0 * error, (kernel, there, curve.regret[-1], error)


@pytest.mark.parametrize(("family", "policy"), NAMES)
def test_mean_regret(family: str, policy: str) -> None:
    compare(family, policy, CASES[family][2][policy], horizon=100, runs=200)


def test_mean_regret_of_kl_emp() -> None:
    """Its own index is costly: fewer rounds."""
    compare(
        "poisson", "kl-emp-ucb", plain.kl_emp(BOUND), horizon=25, runs=100, values=int(BOUND) + 1
    )
