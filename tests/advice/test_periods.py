"""The test by periods, compared with a slow direct computation."""

import math

import numpy as np
import pytest
from scipy import stats

from profitable.advice.outcomes import Outcomes
from profitable.advice.periods import Periods, PeriodTest, either, later_half, quantile
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
    found = Periods.of(outcomes_of(clients, profit, most=1.5)).pays()
    expected = [by_hand(clients[:, k], profit[:, k], 1.5) for k in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_later_half_is_tested_as_if_it_were_all():
    rng = np.random.default_rng(7)
    clients = rng.poisson(4.0, (31, 6)) * rng.integers(0, 2, (31, 6))
    profit = rng.normal(-0.1, 1.0, (31, 6)) * clients
    outcomes = outcomes_of(clients, profit, mature=30, most=1.5)
    found = PeriodTest.of(outcomes).recent
    assert found is not None
    for k in range(6):
        number, money = clients[:30, k], profit[:30, k]
        before = np.cumsum(number) - number
        late = before + number / 2 >= number.sum() / 2
        assert found.pays[k] == pytest.approx(by_hand(number[late], money[late], 1.5), rel=1e-9)
        assert found.clients[k] == number[late].sum()
        assert found.profit[k] == pytest.approx(money[late].sum())
        assert found.first[k] == np.flatnonzero(late & (number > 0))[0]
        assert 0.35 < number[late].sum() / number.sum() < 0.65
    assert PeriodTest.of(outcomes, looks_twice=False).recent is None


def test_two_looks_by_hand():
    """Five rounds of ten clients in the half, one period each."""
    profit = np.concatenate([np.full(5, 2.0), [-3.0, -5.0, -4.0, -2.0, -6.0]])[:, np.newaxis]
    outcomes = outcomes_of(np.full((10, 1), 10.0), profit, most=0.5)
    half = stats.t.cdf((-20.0 + 1.0) / math.sqrt(5 / 4 * 10.0 * 5 / 4 * 4 / 5 + 1.0), 4)
    found = PeriodTest.of(outcomes)
    assert found.recent is not None
    # s^2 = 4/5 sum (v_j + 4)^2 / (4/5)^2, and the sum is 10.
    assert found.recent.pays[0] == pytest.approx(half, rel=1e-9)
    assert found.pays[0] > 0.1
    assert found.both[0] == probabilities(outcomes)[0] == pytest.approx(2.0 * half)


def test_where_one_look_says_nothing_the_other_counts_alone():
    # All but ten of the clients asked in six rounds, and the half has three of these.
    clients, profit = np.full((6, 1), 10.0), np.array([[-3.0, -5.0, -4.0, -2.0, -6.0, -4.0]]).T
    outcomes = outcomes_of(clients, profit, most=0.5)
    found = PeriodTest.of(outcomes)
    assert found.recent is not None
    assert np.isnan(found.recent.pays).all()
    assert probabilities(outcomes)[0] == found.both[0] == found.pays[0] < 0.01
    neither = either(np.array([math.nan, 0.3]), np.array([math.nan, math.nan]))
    assert np.isnan(neither[0])
    assert neither[1] == 0.3


def test_a_category_that_turned_is_refuted_and_a_steady_one_is_not_more_easily():
    rng = np.random.default_rng(8)
    clients = np.full((48, 2), 20.0)
    mean = np.where(np.arange(48) < 20, 1.0, -0.8)[:, np.newaxis] * [1.0, 0.0] + [0.0, 0.1]
    outcomes = outcomes_of(clients, clients * mean + rng.normal(size=(48, 2)) * 3.0, most=1.0)
    whole, both = Periods.of(outcomes).pays(), probabilities(outcomes)
    assert whole[0] > 0.2
    assert both[0] < 1e-4
    assert both[1] >= whole[1] > 0.5


def test_the_largest_profit_of_the_whole_past_is_imagined_in_its_half():
    profit = np.array([[50.0]] + [[-5.0]] * 19)  # a round of ten that brought 5 each
    half = later_half(outcomes_of(np.full((20, 1), 10.0), profit))
    assert half.most == 5.0
    assert half.clients.sum() == 100.0


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
