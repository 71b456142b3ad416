"""Intervals of one entry: what is never worse, and what splits add."""

import numpy as np
import pytest

import profitable as pb
from profitable.replay.backtest_entry import BASELINE
from profitable.replay.baselines import (
    ACCEPT_NONE,
    ALL,
    BEST_CUTOFF,
    CROSS_FITTED,
    HINDSIGHT,
    Setup,
    baselines_for,
)
from profitable.replay.replay import Limits
from tests.replay.calls import CALLS, QUICK, calls, entry
from tests.replay.test_baselines import NAMES, clients_of, frame_of

WIDE = np.linspace(-9.0, 10.0, 100)  # replicates, whose mean is 0.5


def test_the_best_in_hindsight_is_never_worse_than_accepting_all_or_none() -> None:
    nobody = entry(ACCEPT_NONE, -2.0, np.full(100, -2.0), everybody=2.0, kind=BASELINE)
    free, best = (
        entry("it", 0.5, WIDE, everybody=2.0, kind=BASELINE, is_best=is_best)
        for is_best in (False, True)
    )
    assert free.difference.low < -8.0
    assert best.difference.low == best.over_time()[1][-1] == 0.0
    assert best.difference.high == free.difference.high
    assert free.against(nobody).low < -6.0
    assert best.against(nobody).low == 0.0
    assert (best.difference.middle, best.against(nobody).middle) == (0.5, 2.5)


@pytest.mark.parametrize("cost", [0.5, 4.0])  # nearly everybody pays, or nearly nobody
def test_intervals_of_hindsight_start_at_0_or_above(cost: float) -> None:
    found = pb.backtest(calls(weeks=6), **(CALLS | {"cost": cost}), policies="kl-ucb", **QUICK)
    for name in (ALL, ACCEPT_NONE):
        assert found[HINDSIGHT].against(found[name]).low >= 0.0
    assert found[HINDSIGHT].is_best
    assert not found[CROSS_FITTED].is_best


def test_what_is_the_best_of_all_sets_and_cut_offs() -> None:
    clients = clients_of(frame_of(1))
    bands = np.arange(len(NAMES))
    for limits, expected in ((None, [BEST_CUTOFF, HINDSIGHT]), (Limits(places=3), [])):
        found = baselines_for(clients, limits, 0.2, bands)
        setup = Setup(clients, None, limits)
        assert sorted(name for name, each in found.items() if each(setup).is_best) == expected


def test_what_rounding_leaves_is_no_difference() -> None:
    """The mean of seeds that all accept everybody differs in its last digit."""
    it = entry("it", -1e-7, [-1e-7] * 50, everybody=1e7)
    assert (it.difference.middle, it.difference.low, it.difference.high) == (0.0, 0.0, 0.0)
    assert it.sentence() == "it earned as much as accepting everybody."
    more = entry("it", -1.0, [-1.0] * 50, everybody=1e7)
    assert more.sentence().startswith("it earned 1.0 less than")


def test_the_luck_of_splits_is_taken_out_of_the_interval() -> None:
    """Replicates are means of two splits: variance 4 + 10 / 2.  The entry is of 200."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=2_000)
    values = 3.0 * (values - values.mean()) / values.std(ddof=1)
    fitted = entry("it", 0.0, values, kind=BASELINE, splits=200, seed_variance=10.0)
    assert fitted.spread == pytest.approx((4.0 + 10.0 / 200) ** 0.5)
    plain = entry("it", 0.0, values, kind=BASELINE)
    assert plain.spread == pytest.approx(3.0)
    assert fitted.difference.high / plain.difference.high == pytest.approx(fitted.spread / 3.0)
