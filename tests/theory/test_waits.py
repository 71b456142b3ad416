"""The sums over the waits of Thompson sampling against SciPy, mpmath and plain
simulation.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from profitable.simulation.clients_per_round import ConstantClients, OnePlusPoisson, UniformClients
from profitable.theory import waits
from profitable.theory.waits import bernoulli_waits, exponential_waits

ONE = ConstantClients(1).seen


def term(mean: float, threshold: float, n: int) -> float:
    """E[(1 - p)/p] after n clients, by SciPy's incomplete beta function."""
    s = np.arange(n + 1)
    rejects = special.betainc(s + 0.5, n - s + 0.5, threshold)
    accepts = special.betaincc(s + 0.5, n - s + 0.5, threshold)
    return float((stats.binom.pmf(s, n, mean) * rejects / accepts).sum())


def test_one_client_a_round() -> None:
    terms = [term(0.3, 0.2, n) for n in range(1, 1_400)]
    found = bernoulli_waits(0.3, 0.2, ONE)
    assert found.mean() == pytest.approx(math.fsum(terms), abs=2.0 * found.left_out)
    assert found.mean() == pytest.approx(57.68, abs=0.005)


def test_a_term_by_mpmath() -> None:
    """After 40 clients of mean 0.5, threshold 0.4; the arrivals bring 40 at once."""
    with mpmath.workdps(30):
        total = mpmath.mpf(0)
        for s in range(41):
            accepts = mpmath.betainc(s + 0.5, 40.5 - s, mpmath.mpf("0.4"), 1, regularized=True)
            total += mpmath.binomial(40, s) * mpmath.mpf("0.5") ** 40 * (1 - accepts) / accepts
    found = bernoulli_waits(0.5, 0.4, ConstantClients(40).seen)
    later = math.fsum(term(0.5, 0.4, n) for n in range(80, 1_360, 40))
    assert found.mean() == pytest.approx(float(total) + later, rel=1e-6)


@pytest.mark.parametrize("clients", [OnePlusPoisson(rate=4), UniformClients(low=1, high=9)])
def test_random_arrivals(clients: OnePlusPoisson | UniformClients) -> None:
    """The n that are reached after some round, by adding rounds up until all have gone
    past n.
    """
    found = bernoulli_waits(0.3, 0.2, clients.seen)
    one = clients.chances(1_101)
    after, total = one.copy(), np.zeros(1_101)
    for _ in range(500):
        total += after
        after = np.convolve(after, one)[:1_101]
    assert clients.seen(51)[1:] == pytest.approx(total[1:51])
    expected = math.fsum(total[n] * term(0.3, 0.2, n) for n in range(1, 1_100))
    assert found.mean() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("mean", "threshold"), [(0.3, 0.2), (0.5, 0.4), (0.95, 0.6)])
def test_what_is_left_out(mean: float, threshold: float) -> None:
    """The bound on a term is one, and the bound on the rest is above the sum of such
    bounds.
    """
    for n in (1, 10, 100, 500):
        assert term(mean, threshold, n) <= waits._largest_term(mean, threshold, n)
    rest = math.fsum(waits._largest_term(mean, threshold, n) for n in range(501, 6_000))
    assert rest <= waits._rest(mean, threshold, 500) < 1.2 * rest
    assert bernoulli_waits(mean, threshold, ONE).left_out <= waits.LEFT_OUT


def test_waits_that_are_cut() -> None:
    """min(wait, 3) after one client, by hand: q + q^2 + q^3; and P(wait > 3) = q^4."""
    q = special.betainc(np.array([0.5, 1.5]), np.array([1.5, 0.5]), 0.2)
    one = waits.Waits(np.log([0.7, 0.3]), -np.log1p(-q), 0.0)
    assert one.mean(3) == pytest.approx(float(np.dot([0.7, 0.3], q + q**2 + q**3)))
    assert one.longer_than(3) == pytest.approx(float(np.dot([0.7, 0.3], q**4)))
    assert one.mean(1e9) == pytest.approx(one.mean())


def test_bernoulli_settles_and_exponential_does_not() -> None:
    """The same sums, cut at longer and longer waits: what another four decades add
    falls to nothing, or stays.
    """
    cuts = (1e4, 1e8, 1e12)
    bernoulli = [bernoulli_waits(0.3, 0.2, ONE).mean(cut) for cut in cuts]
    exponential = [exponential_waits(0.5, 1e12).mean(cut) for cut in cuts]
    assert bernoulli[2] - bernoulli[1] < 0.01 * (bernoulli[1] - bernoulli[0]) < 0.02
    limit = math.log(1e4) * 0.5 / (1.0 - 0.5)  # tau/(mu - tau) per log t
    assert exponential[2] - exponential[1] == pytest.approx(limit, rel=0.01)
    assert math.isinf(exponential_waits(0.5, 1e12).left_out)


def test_exponential_by_scipy() -> None:
    total = 0.0
    for n in range(1, 120):
        x = (
            np.linspace(1e-9, 12.0 * n + 60.0, 50_001)
            if n > 1
            else np.geomspace(1e-9, 80.0, 50_001)
        )
        accept = stats.gamma.cdf(x, n)
        cut = (
            (1.0 - accept)
            * -np.expm1(99.0 * np.log1p(-np.minimum(accept, 1 - 1e-16)))
            / np.maximum(accept, 1e-300)
        )
        total += float(
            np.trapezoid(stats.gamma.pdf(x, n, scale=2.0) * np.where(accept > 0.0, cut, 99.0), x)
        )
    assert exponential_waits(0.5, 1e12).mean(99) == pytest.approx(total, rel=1e-3)


@pytest.mark.statistical
def test_plain_simulation() -> None:
    """Posterior draws, mean 0.7, threshold 0.4, where long waits are rare enough for a
    variance; 5 standard errors.
    """
    rng = np.random.default_rng(4)
    runs = 10_000
    clients, successes = np.ones(runs), (rng.random(runs) < 0.7).astype(float)
    rejected = np.zeros(runs)
    for _ in range(400):
        accepts = rng.beta(successes + 0.5, clients - successes + 0.5) >= 0.4
        rejected += ~accepts
        successes += accepts & (rng.random(runs) < 0.7)
        clients += accepts
    error = rejected.std() / math.sqrt(runs)
    assert rejected.mean() == pytest.approx(bernoulli_waits(0.7, 0.4, ONE).mean(), abs=5.0 * error)
