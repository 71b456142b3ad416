"""The test by periods, compared with a slow direct computation."""

import math

import numpy as np
import pytest
from scipy import stats

from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import PeriodTest, quantile
from profitable.advice.stop_list import probabilities


def outcomes_of(clients, profit, *, mature: int | None = None, most: float | None = None):
    rounds, size = np.shape(clients)
    return Outcomes(
        tuple(f"k{k}" for k in range(size)),
        tuple(f"t{t}" for t in range(rounds)),
        np.asarray(clients, float),
        np.asarray(profit, float),
        np.zeros((rounds, size)),
        rounds if mature is None else mature,
        most=most,
    )


def by_hand(clients, profit, most) -> float:
    """P(pays) of one category, by leaving out one period after the other."""
    before = np.cumsum(clients) - clients
    periods: dict[int, list[int]] = {}
    for t, number in enumerate(clients):
        if number:
            place = math.floor(8 * (before[t] + number / 2) / clients.sum())
            periods.setdefault(min(place, 7), []).append(t)
    size = len(periods)
    mean = profit.sum() / clients.sum()
    without = []
    for chosen in periods.values():
        kept = [t for t in range(clients.size) if t not in chosen]
        without.append(profit[kept].sum() / clients[kept].sum())
    variance = (size - 1) / size * sum((each - mean) ** 2 for each in without)
    error = math.sqrt(variance * clients.sum() ** 2 + (2 * most) ** 2)
    return float(stats.t.cdf((profit.sum() + 2 * most) / error, size - 1))


def test_p_values_are_those_of_a_jackknife_by_periods():
    rng = np.random.default_rng(3)
    clients = rng.poisson(4.0, (31, 6)) * rng.integers(0, 2, (31, 6))
    profit = rng.normal(-0.1, 1.0, (31, 6)) * clients
    found = probabilities(outcomes_of(clients, profit, most=1.5))
    expected = [by_hand(clients[:, k], profit[:, k], 1.5) for k in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_rounds_that_are_not_mature_do_not_count():
    rng = np.random.default_rng(4)
    clients, profit = np.full((20, 3), 5.0), rng.normal(size=(20, 3))
    first = probabilities(outcomes_of(clients[:12], profit[:12], most=1.0))
    profit[12:] = -1e6
    second = probabilities(outcomes_of(clients, profit, mature=12, most=1.0))
    np.testing.assert_array_equal(first, second)


def test_a_reward_that_has_not_come_is_imagined():
    # A client costs 1.  Each of 12 in the other category brought 100 once.
    clients = np.full((8, 2), 15.0)
    profit = -clients.copy()
    profit[:6, 1] += 100.0
    found = PeriodTest.of(outcomes_of(clients, profit, most=99.0))
    assert found.pays[0] > 0.3  # 120 lost without a reward of 100: nothing is sure
    clients[:, 0], profit[:, 0] = 300.0, -300.0
    assert probabilities(outcomes_of(clients, profit, most=99.0))[0] < 1e-4
    # All losses are alike, so without the two the test would be sure at once.
    assert probabilities(outcomes_of(clients, profit, most=1e-9))[0] < 1e-9


def test_where_nobody_has_brought_a_profit_nothing_is_known():
    found = PeriodTest.of(outcomes_of(np.full((9, 2), 5.0), np.full((9, 2), -5.0), most=-1.0))
    assert np.isnan([found.pays, found.low, found.high]).all()


@pytest.mark.parametrize(("rounds", "says"), [(4, False), (5, True)])
def test_it_takes_five_periods(rounds, says):
    rng = np.random.default_rng(5)
    clients = np.zeros((30, 2))
    clients[:rounds, 0] = 50.0
    found = probabilities(outcomes_of(clients, clients * rng.normal(size=(30, 2)), most=1.0))
    assert np.isnan(found).tolist() == [not says, True]  # the second has no client at all


def test_the_interval_agrees_with_the_p_value():
    rng = np.random.default_rng(6)
    clients = rng.poisson(6.0, (24, 4_000)).astype(float)
    profit = rng.normal(-0.15, 1.0, clients.shape) * np.sqrt(clients)
    found = PeriodTest.of(outcomes_of(clients, profit, most=1.2))
    mean = profit.sum(axis=0) / clients.sum(axis=0)
    assert ((found.high < 0.0) == (found.pays < 0.025)).all()
    assert 0.05 < (found.high < 0.0).mean() < 0.6
    assert ((found.low < mean) & (mean < found.high)).all()


def test_quantiles_are_those_of_scipy():
    freedom = np.array([4.0, 7.0, 4.0, 1.0])
    np.testing.assert_allclose(quantile(0.025, freedom), stats.t.ppf(0.025, freedom), rtol=1e-9)


def test_no_round_at_all():
    assert np.isnan(probabilities(outcomes_of(np.zeros((0, 3)), np.zeros((0, 3))))).all()
