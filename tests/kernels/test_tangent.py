"""The bounds of a tangent enclose the divergence of every law, far from it and near."""

import math

import numpy as np
import pytest

from profitable.kernels.law import (
    BINOMIAL,
    GAMMA,
    GAUSSIAN,
    NEGATIVE_BINOMIAL,
    POISSON,
    Law,
    against,
)
from profitable.kernels.tangent import most_evidence, most_worst_clients, tangent_at

LAWS = [
    (Law(BINOMIAL, 0.0, 100.0, 1.0), 4.0),
    (Law(BINOMIAL, -1.0, 3.0, 7.0), 1.2),
    (Law(NEGATIVE_BINOMIAL, 0.0, math.inf, 2.5), 3.0),
    (Law(POISSON, 0.0), 2.0),
    (Law(GAMMA, 0.0, math.inf, 0.4), 3.0),
    (Law(GAUSSIAN, -math.inf, math.inf, 1.5), 1.0),
]
ROUNDING = 1e-9


@pytest.mark.parametrize(("law", "threshold"), LAWS, ids=str)
def test_bounds_enclose_evidence(law: Law, threshold: float) -> None:
    rng = np.random.default_rng(3)
    low = max(law.low, threshold - 3.0)
    tightest = math.inf
    for _ in range(3_000):
        clients = float(rng.integers(1, 3_000))
        mean, later = threshold - (threshold - low) * rng.random(2) ** 2
        if rng.random() < 0.5:
            later = mean + 0.01 * (later - mean)
        nats = against(law, clients, clients * mean, threshold)
        if nats == 0.0:
            continue
        tangent = tangent_at(law, clients, clients * mean, threshold, nats)
        more = clients + float(rng.integers(0, 50))
        true = against(law, more, more * later, threshold)
        most = most_evidence(law, tangent, more, more * later)
        assert true <= most + ROUNDING * (1.0 + most)
        tightest = min(tightest, most - true)
        smallest, limit = low, nats + 5.0 * rng.random()
        n = most_worst_clients(tangent, clients, clients * mean, smallest, limit)
        if n < math.inf:
            beyond = max(n, 0.0) * (1.0 + ROUNDING) + ROUNDING
            worst = against(law, clients + beyond, clients * mean + beyond * smallest, threshold)
            assert worst >= limit - ROUNDING * (1.0 + limit)
    assert tightest < 1e-3  # the bound says something
