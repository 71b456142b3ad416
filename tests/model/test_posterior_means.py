"""The mean of the posterior of a mean, against SciPy's laws."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

import profitable as pb
from profitable.model.posterior import expected_means


def of(family: pb.Family, clients: float, total: float) -> float:
    return float(expected_means(family.view(), np.array([clients]), np.array([total]))[0])


@pytest.mark.parametrize("clients", [1.0, 2.5, 7.0, 1e6])
def test_against_scipy(clients: float) -> None:
    total = 0.4 * clients
    cases: list[tuple[pb.Family, Any]] = [
        (pb.Bernoulli(), stats.beta(total + 0.5, clients - total + 0.5)),
        (pb.Binomial(trials=3), stats.beta(total + 0.5, 3 * clients - total + 0.5, scale=3)),
        (
            pb.Bounded(low=-1, high=3),
            stats.beta((total + clients) / 4 + 0.5, (3 * clients - total) / 4 + 0.5, -1, 4),
        ),
        (pb.Poisson(), stats.gamma(total + 0.5, scale=1 / clients)),
        (pb.Gaussian(sigma=2.0), stats.norm(total / clients, 2 / math.sqrt(clients))),
        (pb.Normal(), stats.t(max(clients, 5.0) - 3.0, total / clients, 2.0)),
        (pb.Gamma(shape=5.0), stats.invgamma(5 * clients, scale=5 * total)),
        (pb.NegativeBinomial(failures=5.0), stats.betaprime(total + 0.5, 5 * clients, scale=5)),
    ]
    for family, posterior in cases:
        assert of(family, clients, total) == pytest.approx(posterior.mean(), rel=1e-12), family


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.0, 7.5])
@pytest.mark.parametrize("clients", [8.0, 30.5, 1e3, 1e9, 1e15])
def test_weibull_by_its_moment(shape: float, clients: float) -> None:
    """Gamma(1 + 1/k) E[theta^(1/k)], where theta is inverse gamma with parameters N and
    S.
    """
    total = 1.7 * clients
    with mp.workdps(50):
        root = 1 / mp.mpf(shape)
        ratio = (
            mp.gammaprod([clients - root], [clients])
            if clients < 1e6
            else mp.exp(mp.loggamma(clients - root) - mp.loggamma(clients))
        )
        expected = mp.gamma(1 + root) * mp.mpf(total) ** root * ratio
    assert of(pb.Weibull(shape=shape), clients, total) == pytest.approx(float(expected), rel=1e-10)


def test_the_plain_mean_where_the_variance_is_infinite() -> None:
    assert of(pb.Exponential(), 1.0, 4.0) == 4.0
    assert of(pb.Exponential(), 2.0, 8.0) == 4.0
    assert of(pb.Exponential(), 3.0, 12.0) == 6.0  # inverse gamma: 12 / (3 - 1)
    assert of(pb.Geometric(), 2.0, 8.0) == 4.0
    assert of(pb.Geometric(), 3.0, 12.0) == 6.25  # 12.5 / (3 - 1)
    assert of(pb.Pareto(scale=2.0), 100.0, 60.0) == 2.0 / (1.0 - 0.6)
    assert of(pb.Pareto(scale=2.0), 1.0, 1.5) == math.inf
    plain = math.gamma(3.0) * 2.0**2
    assert of(pb.Weibull(shape=0.5), 4.0, 8.0) == pytest.approx(plain)
    assert of(pb.Weibull(shape=0.5), 5.0, 10.0) == pytest.approx(
        math.gamma(3.0) * 100.0 / (4.0 * 3.0)
    )


@given(st.floats(1.0, 1e12), st.floats(0.001, 1.0))
def test_never_far_from_the_plain_mean(clients: float, mean: float) -> None:
    """Half a client of each kind for Bernoulli; at most twice the plain mean where the
    variance is finite.
    """
    assert abs(of(pb.Bernoulli(), clients, clients * mean) - mean) <= 0.5 / (clients + 1.0) + 1e-12
    for family in (pb.Exponential(), pb.Gamma(shape=0.3), pb.Weibull(shape=1.0)):
        assert mean * (1 - 1e-9) <= of(family, clients, clients * mean) <= 2.0 * mean * (1 + 1e-9)


def test_a_prior_adds_clients() -> None:
    view = (
        pb.Bernoulli().view().with_prior(*pb.Prior.beta(3.0, 1.0).imaginary_clients(pb.Bernoulli()))
    )
    assert expected_means(view, np.array([0.0, 4.0]), np.array([0.0, 0.0])).tolist() == [
        0.75,
        3.0 / 8.0,
    ]
