"""Bets against categories: arithmetic by hand, and every path of a small world."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from profitable.advice.betting import STAKES, betting_test, log_capital
from profitable.advice.outcomes import Outcomes


def outcomes_of(clients, profit, **more) -> Outcomes:
    rounds, size = np.shape(clients)
    names = tuple(f"k{k}" for k in range(size))
    labels = tuple(f"t{t}" for t in range(rounds))
    arrays = np.asarray(clients, float), np.asarray(profit, float), np.zeros((rounds, size))
    return Outcomes(names, labels, *arrays, rounds, **more)


def test_the_capital_is_a_product_over_rounds():
    # Means of -1, nothing, and 1/2; a client can bring 2.
    found = betting_test(outcomes_of([[3], [0], [4]], [[-3], [0], [2]], most=2.0, least=-1.0))
    shares = [Fraction(float(stake)) for stake in STAKES]
    capital = sum((1 + share / 2) * (1 - share / 4) for share in shares) / len(shares)
    assert capital > 1
    assert found.pays[0] == pytest.approx(float(1 / capital))


@pytest.mark.parametrize("policy", ["stops when it lost", "doubles", "goes on while it wins"])
def test_no_policy_makes_the_capital_grow_where_clients_just_pay(policy):
    """Gains of 1 and losses of 1 are as likely: all 2^8 paths are gone through."""
    capitals = []
    for path in itertools.product((-1.0, 1.0), repeat=8):
        clients, total = [], 0.0
        for t, value in enumerate(path):
            number = {
                "stops when it lost": float(total > -2.0),
                "doubles": 2.0 ** (t if total < 0.0 else 0),
                "goes on while it wins": float(t == 0 or path[t - 1] > 0.0),
            }[policy]
            clients.append(number)
            total += number * value
        number = np.array(clients)[:, np.newaxis]
        x, zero = np.array(path)[:, np.newaxis], np.zeros(1)
        capitals.append(float(np.exp(log_capital(x, number > 0.0, 1.0, zero))[0]))
    assert np.mean(capitals) == pytest.approx(1.0)
    assert max(capitals) > 2.0


def test_intervals_agree_with_the_e_values():
    rng = np.random.default_rng(7)
    clients = np.full((40, 500), 5.0)
    mean = rng.uniform(-0.6, 0.6, 500)
    profit = clients * np.clip(rng.normal(mean, 0.3, clients.shape), -1.0, 1.0)
    found = betting_test(outcomes_of(clients, profit, most=1.0, least=-1.0))
    assert ((found.high < 0.0) == (found.pays < 0.025)).all()
    assert 0.2 < (found.high < 0.0).mean() < 0.5
    there = profit.sum(axis=0) / clients.sum(axis=0)
    assert ((found.low < there) & (there < found.high)).all()
    # The mirror image has the mirrored interval.
    other = betting_test(outcomes_of(clients, -profit, most=1.0, least=-1.0))
    np.testing.assert_allclose(found.low, -other.high, atol=1e-9)


def test_a_category_without_clients_says_nothing():
    found = betting_test(outcomes_of([[3, 0]], [[1, 0]]))
    assert np.isnan(found.pays).tolist() == [False, True]
    assert np.isnan(betting_test(outcomes_of([[3]], [[-1]], most=-0.1)).pays).all()
