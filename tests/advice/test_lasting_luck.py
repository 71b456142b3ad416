"""Luck that lasts: found beyond chance, and not in exchangeable rounds."""

import numpy as np
import pytest

from profitable.advice.block_bootstrap import Blocks
from profitable.advice.lasting_luck import CHANCE, lasting
from profitable.common.types import FloatArray


def shocks(rng: np.random.Generator, rounds: int, kept: float) -> FloatArray:
    """Shocks of variance 1, of which neighbours have the correlation `kept`."""
    found = rng.standard_normal(rounds)
    for place in range(1, rounds):
        found[place] = kept * found[place - 1] + np.sqrt(1.0 - kept**2) * found[place]
    return found


def found_in(kept: float, portfolios: int, most: float) -> FloatArray:
    """What is found in 60 rounds of 20 and `most` clients by turns."""
    rng, rounds = np.random.default_rng(3), 60
    clients = np.where(np.arange(rounds) % 2 > 0, most, 20.0)[:, np.newaxis] * [1.0, 0.5, 0.1]
    means = np.array([0.2, -0.1, 0.5])
    luck = (0.3 * shocks(rng, rounds, kept) for _ in range(portfolios))
    return np.array([lasting(clients * (means + each[:, np.newaxis]), clients) for each in luck])


def test_exchangeable_rounds_rarely_seem_to_share_their_luck() -> None:
    """The error of 2 000 portfolios is 0.5 %."""
    assert np.mean(found_in(0.0, 2_000, 80.0) > 0.0) == pytest.approx(CHANCE, abs=0.02)


def test_the_autocorrelation_is_found() -> None:
    found = found_in(0.6, 500, 20.0)
    assert np.mean(found > 0.0) > 0.9
    assert found[found > 0.0].mean() == pytest.approx(0.6, abs=0.04)


def test_rounds_without_clients_and_without_luck_say_nothing() -> None:
    assert lasting(np.zeros((9, 2)), np.zeros((9, 2))) == 0.0
    assert lasting(np.ones((9, 2)), np.ones((9, 2))) == 0.0
    assert lasting(np.ones((1, 1)), np.ones((1, 1))) == 0.0


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7])
def test_wider_by_what_replicates_lack(kept: float) -> None:
    """The sum of 30 rounds, against replicates in segments of 5, 10 and 15."""
    rng = np.random.default_rng(1)
    blocks = Blocks.of([0, 5, 15, 30])
    truth, drawn = [], []
    for _ in range(3_000):
        profit = shocks(rng, 30, kept)
        _, weights = blocks.draw(rng, 40)
        truth.append(profit.sum())
        drawn.append((weights @ profit).var(ddof=1))
    lack = np.std(truth) / np.sqrt(np.mean(drawn))
    assert blocks.widening(kept) == pytest.approx(lack, rel=0.05)
