"""The block bootstrap: rounds that are drawn, and the interval."""

import numpy as np
import pytest
from scipy import stats

from profitable.advice.block_bootstrap import Blocks, interval, times


def test_rounds_stay_in_their_segment_and_blocks_together() -> None:
    rounds, _ = Blocks((0, 9, 16), (3, 3)).draw(np.random.default_rng(1), 200)
    assert (rounds[:, :9] < 9).all()
    assert (rounds[:, 9:] >= 9).all()
    assert np.unique(rounds).size == 16
    # The second and third round of a block follow the first, round the segment.
    assert ((rounds[:, 1:9:3] - rounds[:, 0:9:3]) % 9 == 1).all()
    assert ((rounds[:, 10:16:3] - rounds[:, 9:15:3]) % 7 == 1).all()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_variance_of_a_sum_is_that_of_new_rounds(length: int) -> None:
    """Of 7 independent rounds with variance 1, it is 7; the error of 4 000 is 0.1."""
    rng = np.random.default_rng(length)
    blocks, found = Blocks((0, 7), (length,)), []
    for _ in range(4_000):
        profit = 5.0 + rng.standard_normal(7)
        _, weights = blocks.draw(rng, 40)
        found.append((weights @ profit).var())
    assert np.mean(found) * 40 / 39 == pytest.approx(7.0, rel=0.06)


def test_blocks_of_short_segments_are_shorter() -> None:
    blocks = Blocks.of([0, 1, 4, 64])
    assert blocks.lengths == (1, 1, 4)
    assert blocks.freedom == pytest.approx(0.0 + 2.0 + 21.5)
    rounds, weights = blocks.draw(np.random.default_rng(1), 5)
    assert (rounds[:, 0] == 0).all()
    assert (times(rounds, 64).sum(axis=1) == 64).all()
    assert (weights[:, 0] == 1.0).all()


def test_an_interval_by_hand() -> None:
    """39 replicates from 1 to 39: quantiles are 1 and 39, 19 from their mean of 20.

    The centre is halfway between 30 and 20.
    """
    found = interval(30.0, np.arange(1.0, 40.0), 10.0)
    wider = stats.t.ppf(0.975, 10.0) / stats.norm.ppf(0.975)
    assert (found.low, found.high) == pytest.approx((25.0 - 19.0 * wider, 25.0 + 19.0 * wider))


def test_an_interval_contains_what_was_found() -> None:
    found = interval(100.0, np.arange(1.0, 40.0), 10.0)
    assert found.low < found.high == found.middle == 100.0
