"""Intervals of an isotonic fit, against all partitions, and how often they cover."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from profitable.kernels.law import BINOMIAL, GAUSSIAN, Law
from profitable.kernels.order import BandRow, weigh_bands
from profitable.kernels.order_fit import LIMIT, fit_bands, fit_intervals, weigh_posteriors
from profitable.kernels.patience import TIME, Patience
from tests.kernels.test_order import (
    INF,
    LAWS,
    by_law,
    divergence,
    draw,
    least_loss,
    table,
)

BERNOULLI = LAWS["bernoulli"]


@by_law
def test_ends_cost_as_much_as_the_limit(name: str) -> None:
    law, rng, compared = LAWS[name], np.random.default_rng(11), 0
    for case in range(60):
        clients, totals, _ = draw(law, rng, 1 + case % 5)
        bands = table(clients, totals, 0.0 if law.low == -INF else law.low)
        ends = fit_intervals(law, INF, 1.0, bands)
        some = clients > 0
        if not some.any():
            assert (ends[0] == law.low).all()
            assert (ends[1] == law.high).all()
            continue
        free = least_loss(law, clients[some], totals[some])
        fit = bands.copy()
        fit_bands(law, INF, 1.0, fit)
        for j in range(clients.size):
            for end, side, edge in ((ends[0, j], -1.0, law.low), (ends[1, j], 1.0, law.high)):
                if end == edge:
                    near = edge - side * 1e-9 * max(1.0, abs(edge)) if math.isfinite(edge) else edge
                    if math.isinf(near):
                        continue
                    cost = least_loss(law, clients, totals, j, near, side) - free
                    assert cost <= LIMIT + 1e-6
                else:
                    cost = least_loss(law, clients, totals, j, end, side) - free
                    assert cost == pytest.approx(LIMIT, rel=1e-6)
                    compared += 1
            if clients[j] > 0:
                assert ends[0, j] <= fit[BandRow.FIT, j] <= ends[1, j]
    assert compared > 100


def test_a_band_alone_has_the_interval_of_its_likelihood() -> None:
    low, high = fit_intervals(BERNOULLI, INF, 1.0, table(np.array([20.0]), np.array([7.0]), 0.5))
    assert stats.chi2.cdf(2.0 * LIMIT, 1) == pytest.approx(0.95, abs=1e-12)
    for end, (a, b) in ((low[0], (0.01, 0.35)), (high[0], (0.35, 0.99))):
        exact = optimize.brentq(lambda p: 20.0 * divergence(BERNOULLI, 0.35, p) - LIMIT, a, b)
        assert end == pytest.approx(exact, rel=1e-9)


def test_intervals_rise_with_the_bands_and_shrink_with_the_order() -> None:
    rng = np.random.default_rng(3)
    clients = rng.integers(5, 60, 12).astype(float)
    totals = rng.binomial(clients.astype(int), np.linspace(0.3, 0.8, 12)).astype(float)
    together = fit_intervals(BERNOULLI, INF, 1.0, table(clients, totals, 0.5))
    assert (np.diff(together, axis=1) >= -1e-12).all()
    alone = np.hstack(
        [
            fit_intervals(BERNOULLI, INF, 1.0, table(clients[k : k + 1], totals[k : k + 1], 0.5))
            for k in range(12)
        ]
    )
    assert np.diff(together, axis=0).mean() < 0.8 * np.diff(alone, axis=0).mean()


def test_a_band_that_left_has_no_interval_and_does_not_disturb_the_others() -> None:
    clients, totals = np.array([200.0, 200.0, 200.0]), np.array([20.0, 180.0, 40.0])
    ends = fit_intervals(BERNOULLI, 3.0, 1.0, table(clients, totals, 0.5))
    assert np.isnan(ends[:, 1]).all()
    without = fit_intervals(BERNOULLI, INF, 1.0, table(clients[[0, 2]], totals[[0, 2]], 0.5))
    assert ends[:, [0, 2]] == pytest.approx(without, rel=1e-12)


def test_probabilities_are_those_of_a_policy_that_is_certain_of_the_order() -> None:
    clients, totals = np.array([30.0, 0.0, 25.0, 60.0]), np.array([12.0, 0.0, 20.0, 30.0])
    given = table(clients, totals, 0.6)
    policy = given.copy()
    weigh_bands(BERNOULLI, True, INF, Patience(TIME), 50.0, 0.0, policy)
    weigh_posteriors(BERNOULLI, INF, 50.0, given)
    assert (given[BandRow.EVIDENCE] == policy[BandRow.EVIDENCE]).all()
    alone = table(clients[:1], totals[:1], 0.6)
    weigh_posteriors(BERNOULLI, 3.0, 50.0, alone)
    assert math.exp(-alone[BandRow.EVIDENCE, 0]) == pytest.approx(
        1.0 - special.betainc(12.5, 18.5, 0.6), rel=1e-9
    )


CURVES = {
    "steep": np.linspace(0.2, 0.9, 8),
    "gentle": np.linspace(0.75, 0.85, 8),
    "equal": np.full(8, 0.8),
}


def covered(law: Law, means: np.ndarray, number: int, runs: int, seed: int) -> np.ndarray:
    """How often the interval of each band has its mean."""
    rng, hits = np.random.default_rng(seed), np.zeros(means.size)
    for _ in range(runs):
        clients = np.full(means.size, float(number))
        if law.code == GAUSSIAN:
            totals = rng.normal(number * means, law.size * math.sqrt(number))
        else:
            assert law.code == BINOMIAL
            totals = rng.binomial(number, means).astype(float)
        low, high = fit_intervals(law, INF, 1.0, table(clients, totals, 0.5))
        hits += (low <= means) & (means <= high)
    return hits / runs


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "number", "least"),
    [("steep", 400, 0.95), ("gentle", 400, 0.95), ("equal", 25, 0.89), ("equal", 400, 0.89)],
)
def test_intervals_cover(name: str, number: int, least: float) -> None:
    """As docs/score-bands.md says: less at the ends of a flat curve."""
    shares = covered(BERNOULLI, CURVES[name], number, 400, 7)
    error = math.sqrt(least * (1.0 - least) / 400)
    assert shares.min() > least - 4.0 * error
    assert shares.mean() > 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / 400 / 8)
    if least < 0.95:
        assert shares.argmin() in (0, 7)
