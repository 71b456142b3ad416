"""The exact optimum against recursions that share nothing with it: fractions, mpmath,
quadrature, simulation.
"""

import itertools
import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from benchmarks import one_armed as exact
from benchmarks.one_armed import OneArmed, one_armed
from scipy import integrate, stats

import profitable as pb
from profitable.errors import InputError
from profitable.model.category import said_before

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
ONE_CLIENT = pb.Prior.like(clients=1, mean=2.0)
FAMILIES = [pb.Bernoulli(), pb.Poisson(), pb.Exponential(), pb.Gaussian(sigma=1.5)]


def category(
    family: pb.Family, threshold: float = 0.4, prior: pb.Prior | None = None
) -> pb.Category:
    if prior is None and not isinstance(family, pb.Bernoulli):
        prior, threshold = ONE_CLIENT, 5.0 * threshold
    with said_before():
        return pb.Category("students", family, threshold=threshold, prior=prior)


# -------------------------------------------------------------------------- brute force


def fractions_value(
    tau: Fraction, weights: tuple[Fraction, ...], clients: int, a: Fraction, b: Fraction
) -> tuple[Fraction, list[int]]:
    """The optimum over all outcomes of all clients one by one, and the smallest
    accepted S of each round.
    """
    accepted: list[set[int]] = [set() for _ in weights]

    @cache
    def value(t: int, successes: int) -> Fraction:
        if t == len(weights):
            return Fraction(0)
        seen = t * clients
        go = clients * weights[t] * ((a + successes) / (a + b + seen) - tau)
        for outcomes in itertools.product((0, 1), repeat=clients):
            chance, good = Fraction(1), successes
            for place, outcome in enumerate(outcomes):
                repays = (a + good) / (a + b + seen + place)
                chance *= repays if outcome else 1 - repays
                good += outcome
            go += chance * value(t + 1, good)
        if go >= 0:
            accepted[t].add(successes)
        return max(Fraction(0), go)

    best = value(0, 0)
    for t, clients_seen in enumerate(range(0, clients * len(weights), clients)):
        for successes in range(clients_seen + 1):
            value(t, successes)
    return best, [min(found, default=t * clients + 1) for t, found in enumerate(accepted)]


@pytest.mark.parametrize("clients", [1, 2])
@pytest.mark.parametrize("tau", [Fraction(1, 10), Fraction(2, 5), Fraction(11, 20), Fraction(4, 5)])
@pytest.mark.parametrize(
    ("a", "b"), [(Fraction(1, 2), Fraction(1, 2)), (Fraction(2), Fraction(7, 2))]
)
def test_bernoulli_is_the_recursion_in_fractions(
    clients: int, tau: Fraction, a: Fraction, b: Fraction
) -> None:
    prior = pb.Prior.beta(float(a), float(b))
    for rounds in (1, 2, 3, 6):
        optimum = one_armed(
            category(pb.Bernoulli(), float(tau), prior), horizon=rounds, clients=clients
        )
        value, boundary = fractions_value(tau, (Fraction(1),) * rounds, clients, a, b)
        assert optimum.value == pytest.approx(float(value), abs=1e-13)
        assert optimum.boundary.tolist() == boundary
        oracle = (
            clients
            * rounds
            * stats.beta(float(a), float(b)).expect(
                lambda mu: mu - float(tau), lb=float(tau), ub=1.0
            )
        )
        assert optimum.regret == pytest.approx(oracle - float(value), abs=1e-7)


def test_discounted_bernoulli_is_the_recursion_in_fractions() -> None:
    """At 0.2 per round, what follows after 12 rounds is worth less than 1e-8."""
    tau, half = Fraction(2, 5), Fraction(1, 2)
    optimum = one_armed(category(pb.Bernoulli()), discount=0.2, clients=2)
    value, boundary = fractions_value(
        tau, tuple(Fraction(1, 5) ** t for t in range(12)), 2, half, half
    )
    assert optimum.value == pytest.approx(float(value), abs=1e-8)
    assert optimum.boundary[:9].tolist() == boundary[:9]


@pytest.mark.parametrize("clients", [1, 2])
@pytest.mark.parametrize("tau", [0.7, 2.2])
def test_poisson_is_the_recursion_in_high_precision(clients: int, tau: float) -> None:
    """Three rounds, 30 digits, sums up to 60 a client; the prior is gamma with shape
    3/2 and rate 1.
    """
    rounds, shape, rate = 3, mpmath.mpf(3) / 2, mpmath.mpf(1)
    cut = 60 * clients

    @cache
    def value(t: int, total: int) -> mpmath.mpf:
        if t == rounds:
            return mpmath.mpf(0)
        a, b = shape + total, rate + t * clients
        go, share = clients * (a / b - mpmath.mpf(tau)), clients / (b + clients)
        chance = (1 - share) ** a
        for more in range(cut if t + 1 < rounds else 0):
            go += chance * value(t + 1, total + more)
            chance *= (a + more) * share / (more + 1)
        return max(mpmath.mpf(0), go)

    with mpmath.workdps(30):
        expected = float(value(0, 0))
    prior = pb.Prior.gamma(shape=1.5, rate=1.0)
    optimum = one_armed(category(pb.Poisson(), tau, prior), horizon=rounds, clients=clients)
    assert optimum.value == pytest.approx(expected, rel=1e-9)


def test_two_rounds_by_hand() -> None:
    """(m - tau) + E(m' - tau)+, where m' is the mean after the first round."""
    # M' is normal around 2 with variance sigma^2 (1 - 1/2).
    z = (2.0 - 2.2) / (1.5 / math.sqrt(2.0))
    option = 1.5 / math.sqrt(2.0) * (stats.norm.pdf(z) + z * stats.norm.cdf(z))
    gaussian = one_armed(category(pb.Gaussian(sigma=1.5), 2.2, ONE_CLIENT), horizon=2)
    assert gaussian.value == pytest.approx(-0.2 + option, rel=1e-4)
    assert gaussian.boundary[1] == pytest.approx(2.4, abs=1e-6)  # (2 + 2.4)/2 = 2.2
    # Three imaginary rewards with sum 6: m = 6/2, m' = (6 + X)/3, and P(X > x) = (1 +
    # x/6)^-3.
    waits = one_armed(
        category(pb.Exponential(), 3.5, pb.Prior.like(clients=3, mean=2.0)), horizon=2
    )
    # M' >= 3.5 from X = 4.5 on.
    tail, _ = integrate.quad(lambda x: (1 + x / 6) ** -3 / 3, 4.5, math.inf)
    assert max(0.0, 3.0 - 3.5 + tail) == waits.value == 0.0
    waits = one_armed(
        category(pb.Exponential(), 3.2, pb.Prior.like(clients=3, mean=2.0)), horizon=2
    )
    tail, _ = integrate.quad(lambda x: (1 + x / 6) ** -3 / 3, 3.6, math.inf)
    assert waits.value == pytest.approx(3.0 - 3.2 + tail, rel=1e-4)
    assert waits.boundary[1] == pytest.approx(3.6, abs=1e-3)


@pytest.mark.parametrize("clients", [1, 5])
def test_the_oracle_s_part(clients: int) -> None:
    """value + regret is what one earns who knows mu; SciPy integrates it."""
    laws = [
        (pb.Bernoulli(), stats.beta(0.5, 0.5)),
        (pb.Poisson(), stats.gamma(2.5)),
        (pb.Gaussian(sigma=1.5), stats.norm(2.0, 1.5)),
    ]
    for family, law in laws:
        given = category(family)
        optimum = one_armed(given, horizon=10, clients=clients)
        upper = min(law.support()[1], 60.0)
        oracle = (
            10
            * clients
            * law.expect(lambda mu, tau=given.threshold: mu - tau, lb=given.threshold, ub=upper)
        )
        assert optimum.value + optimum.regret == pytest.approx(oracle, rel=1e-6)
    prior = pb.Prior.like(clients=3, mean=2.0)
    optimum = one_armed(category(pb.Exponential(), 2.5, prior), horizon=10, clients=clients)
    oracle = 10 * clients * stats.invgamma(3.0, scale=6.0).expect(lambda mu: mu - 2.5, lb=2.5)
    assert optimum.value + optimum.regret == pytest.approx(oracle, rel=1e-6)


# --------------------------------------------------------------------------- properties


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("form", [{"horizon": 60}, {"discount": 0.8}], ids=["horizon", "discount"])
def test_no_rule_beats_the_optimum(family: pb.Family, form: dict[str, float]) -> None:
    optimum = one_armed(category(family), clients=2, **form)
    itself = optimum.regret_of(rule(optimum, 0.0))
    assert itself == pytest.approx(optimum.regret, rel=1e-12 if optimum.states.whole else 1e-3)
    for shift in (-2.0, -0.7, 0.7, 2.0):
        assert optimum.regret_of(rule(optimum, shift)) > optimum.regret * 1.001


def rule(
    optimum: OneArmed, shift: float
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Accept from `shift` standard deviations or so above the optimal boundary on."""
    return lambda t, clients, total: total >= optimum.boundary[t] + shift * np.sqrt(clients * 0.4)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_boundary_rises_to_the_threshold(family: pb.Family) -> None:
    """The fewer rounds remain, the more a category must have shown: also with the mean
    given the data, not S alone.
    """
    given = category(family)
    near, far = one_armed(given, horizon=50), one_armed(given, horizon=60)
    at = slice(1, 50)
    assert np.all(far.boundary[at] <= near.boundary[at] + 1e-3)
    lowest = near.boundary[1:]
    assert np.all(np.diff(lowest) > (-1e-9 if near.states.whole else -1e-3))
    means = near.states.mean(49, np.array([number_of(near, 49)]))
    step = 0.0 if not near.states.whole else 1.0 / near.states.clients[49]
    # The last round: accept from tau on.
    assert given.threshold - 1e-6 <= means[0] <= given.threshold + step + 1e-6


def number_of(optimum: OneArmed, t: int) -> float:
    """The number of the state on the boundary, found by halving."""
    low, high = float(optimum.states.first[t]), float(optimum.states.last[t])
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = optimum.states.total(np.array([t]), np.array([middle]))[0] < optimum.boundary[t]
        low, high = (middle, high) if below else (low, middle)
    return high


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_wider_band_and_a_finer_grid_change_little(
    family: pb.Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = category(family)
    coarse = one_armed(given, horizon=200, clients=5)
    monkeypatch.setattr(exact, "NATS", 35.0)
    wide = one_armed(given, horizon=200, clients=5).regret
    assert coarse.regret == pytest.approx(wide, rel=1e-8 if coarse.states.whole else 3e-4)
    monkeypatch.setattr(exact, "POINTS", 16.0)
    assert coarse.regret == pytest.approx(one_armed(given, horizon=200, clients=5).regret, rel=3e-4)


def test_a_gaussian_optimum_does_not_depend_on_units() -> None:
    one = one_armed(
        category(pb.Gaussian(sigma=1.0), 0.3, pb.Prior.like(clients=2, mean=0.0)), horizon=100
    )
    other = one_armed(
        category(pb.Gaussian(sigma=30.0), 109.0, pb.Prior.like(clients=2, mean=100.0)), horizon=100
    )
    assert other.regret == pytest.approx(30.0 * one.regret, rel=3e-4)


# --------------------------------------------------------------------------- simulation


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_regret_is_what_its_boundary_loses(family: pb.Family) -> None:
    """40 000 categories drawn from the prior, played by the boundary; 4 standard
    errors, a false alarm in 16 000.
    """
    given = category(
        family,
        prior=None if isinstance(family, pb.Bernoulli) else pb.Prior.like(clients=3, mean=2.0),
    )
    given = given if isinstance(family, pb.Bernoulli) else category(family, 2.1, given.prior)
    optimum = one_armed(given, horizon=40, clients=2)
    rng, runs = np.random.default_rng(11), 40_000
    mu = {
        "bernoulli": lambda: rng.beta(0.5, 0.5, runs),
        "poisson": lambda: rng.gamma(6.5, 1 / 3, runs),
        "exponential": lambda: 6.0 / rng.gamma(3.0, 1.0, runs),
        "gaussian": lambda: rng.normal(2.0, 1.5 / math.sqrt(3.0), runs),
    }[family.name]()
    draw = {
        "bernoulli": lambda: rng.binomial(2, mu),
        "poisson": lambda: rng.poisson(2 * mu),
        "exponential": lambda: rng.gamma(2.0, mu),
        "gaussian": lambda: rng.normal(2 * mu, 1.5 * math.sqrt(2.0)),
    }[family.name]
    total, going, lost = np.zeros(runs), np.ones(runs, dtype=bool), np.zeros(runs)
    for t in range(40):
        going &= total >= optimum.boundary[t]
        lost += 2 * np.where(
            going, np.maximum(given.threshold - mu, 0.0), np.maximum(mu - given.threshold, 0.0)
        )
        total += draw()
    assert lost.mean() == pytest.approx(optimum.regret, abs=4 * lost.std() / math.sqrt(runs))


def test_the_paper_s_policies_lose_more() -> None:
    """Jeffreys' prior as 60 means of equal probability, which is exact to 1 %; the
    policies lose at least 10 % more.
    """
    tau, rounds = 0.4, 400
    optimum = one_armed(category(pb.Bernoulli(), tau), horizon=rounds, clients=2)
    means = stats.beta(0.5, 0.5).ppf((np.arange(60) + 0.5) / 60)
    truths = [
        pb.Truth(pb.Category(f"{i}", pb.Bernoulli(), threshold=tau), mean=mu, clients=2)
        for i, mu in enumerate(means)
    ]
    result = pb.simulate(
        pb.Scenario("prior", truths),
        ["kl-ucb", "bayes-ucb", "ts"],
        horizon=rounds,
        runs=200,
        seed=3,
    )
    for curve in result.curves:
        assert curve.regret[-1] / 60 > 1.1 * optimum.regret


@pytest.mark.skipif(not SOAK, reason="make soak: the largest horizons")
def test_large_horizons_agree_with_a_finer_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    for family, rounds in zip(FAMILIES, (100_000, 10_000, 3_000, 3_000), strict=True):
        coarse = one_armed(category(family), horizon=rounds)
        with monkeypatch.context() as patched:
            patched.setattr(exact, "POINTS", 16.0)
            patched.setattr(exact, "NATS", 35.0)
            assert coarse.regret == pytest.approx(
                one_armed(category(family), horizon=rounds).regret, rel=3e-4
            )


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "form", "message"),
    [
        (category(pb.Geometric(), 2.0, ONE_CLIENT), {"horizon": 5}, "no exact optimum"),
        (pb.Category("a", pb.Poisson(), threshold=2.0), {"horizon": 5}, "improper"),
        (category(pb.Bernoulli()), {}, "give one of the two"),
        (category(pb.Bernoulli()), {"horizon": 5, "discount": 0.9}, "give one of the two"),
        (category(pb.Bernoulli()), {"discount": 1.0}, "not between 0 and 1"),
        (category(pb.Bernoulli()), {"horizon": 0}, "horizon"),
        (category(pb.Bernoulli(), 1.0), {"horizon": 5}, "edge"),
        (category(pb.Poisson(), 100.0, ONE_CLIENT), {"horizon": 5, "clients": 3}, "more than 200"),
    ],
)
def test_bad_input(given: pb.Category, form: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        one_armed(given, **form)


def test_a_rule_that_never_stops_is_refused() -> None:
    optimum = one_armed(category(pb.Bernoulli()), horizon=1_000)
    with pytest.raises(InputError, match=r"P\(mu >= tau\) is below"):
        optimum.regret_of(lambda t, clients, total: total >= 0.0)
