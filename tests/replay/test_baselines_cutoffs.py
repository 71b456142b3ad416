"""Baselines that cut an order: every cut-off is tried by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import profitable as pb
from profitable.common.types import BoolArray, FloatArray
from profitable.replay.baselines import (
    BEST_CUTOFF,
    FITTED_CUTOFF,
    OWN_CUTOFF,
    Setup,
    baselines_for,
    from_best_cutoff,
    learn_then_commit,
)
from tests.replay.test_baselines import NAMES, by_cell, clients_of, frame_of

BANDS = np.array([0, 1, 2])  # the last category has no score


def cuts(profits: FloatArray) -> list[BoolArray]:
    """All cut-offs, the one that accepts least first; the free category if it pays."""
    free = profits[3] > 0.0
    return [np.array([*(k >= cut for k in range(3)), free]) for cut in (3, 2, 1, 0)]


def best(profits: FloatArray) -> BoolArray:
    return max(cuts(profits), key=lambda chosen: profits[chosen].sum())


def test_the_best_cut_off_earns_most_and_accepts_no_more_than_it_must() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        profits = rng.integers(-3, 4, 4).astype(float)  # with ties, and zeros
        chosen = from_best_cutoff(BANDS)(profits)
        assert profits[chosen].sum() == max(profits[each].sum() for each in cuts(profits))
        assert (chosen == best(profits)).all()


@pytest.mark.parametrize("seed", range(4))
def test_in_hindsight_and_after_learning(seed: int) -> None:
    frame = frame_of(seed, delay=3)
    clients = clients_of(frame)
    found = baselines_for(clients, None, 0.25, BANDS)
    names = ("learn 25%, then cut", FITTED_CUTOFF, BEST_CUTOFF)
    assert list(found)[-3:] == list(names)
    assert list(found)[:-3] == list(baselines_for(clients, None, 0.25))
    profits = by_cell(frame)
    expected = np.where(best(profits.sum(axis=0)), profits, 0.0)
    np.testing.assert_allclose(found[BEST_CUTOFF](Setup(clients)).table, expected, atol=1e-12)
    known = by_cell(frame[(frame["round"] <= 3) & (frame["known"] <= 3)]).sum(axis=0)
    expected = profits.copy()
    expected[3:] = np.where(best(known), profits[3:], 0.0)
    np.testing.assert_allclose(found[names[0]](Setup(clients)).table, expected, atol=1e-12)


def test_learning_a_cut_off_does_not_look_ahead() -> None:
    frame = frame_of(5, delay=6)
    later = frame.assign(profit=frame["profit"].where(frame["known"] <= 4, -5.0))
    accepted = [
        learn_then_commit(1 / 3, from_best_cutoff(BANDS))(Setup(clients_of(each))).accepted
        for each in (frame, later)
    ]
    np.testing.assert_array_equal(accepted[0], accepted[1])


@pytest.mark.statistical
def test_cross_fitting_takes_the_luck_out_of_a_cut_off() -> None:
    """All bands earn 0 on average: hindsight finds a lucky cut-off, 60 times."""
    lucky: list[float] = []
    fair: list[float] = []
    for seed in range(60):
        frame = frame_of(seed, per_cell=2.0)
        frame["profit"] = np.random.default_rng([seed, 1]).normal(size=len(frame))
        clients = clients_of(frame)
        found = baselines_for(clients, None, None, np.arange(len(NAMES)))
        lucky.append(float(found[BEST_CUTOFF](Setup(clients)).table.sum()))
        fair.append(float(found[FITTED_CUTOFF](Setup(clients, seed=seed)).table.sum()))
    assert np.mean(lucky) > 5.0 * np.std(lucky) / 60**0.5
    assert abs(np.mean(fair)) < 5.0 * np.std(fair) / 60**0.5


def test_the_lender_s_own_cut_off() -> None:
    """He accepted from 0.5 on with few exceptions; refused clients are in the file."""
    rng = np.random.default_rng(3)
    score = rng.random(2_000)
    accepted = np.where(rng.random(2_000) < 0.1, score < 0.5, score >= 0.5)
    repaid = (rng.random(2_000) < 0.5 + 0.5 * score).astype(float)
    frame: Any = pd.DataFrame(
        {
            "score": score,
            "week": 1 + np.arange(2_000) // 100,
            "accepted": accepted.astype(int),
            "chance": np.where(score >= 0.5, 0.9, 0.1),
            "repaid": np.where(accepted, repaid, np.nan),
        }
    )
    columns = {
        "category": "score:0.25,0.5,0.75",
        "order": "rising",
        "time": "week",
        "reward": "repaid",
        "cost": 0.8,
        "accepted": "accepted",
        "propensity": "chance",
    }
    found = pb.backtest(frame, **columns, policies=["kl-ucb"], replays=0, seeds=1, progress=False)
    own = found[OWN_CUTOFF]
    assert own.clients == (score >= 0.5).sum()
    # The truth is 0.5 + 0.5 score - 0.8 for each of them.
    truth = (0.5 * score - 0.3)[score >= 0.5].sum()
    assert own.profit == pytest.approx(truth, abs=4.0 * 2_000**0.5 * 0.4)
    without = pb.backtest(
        frame.dropna(),
        **(columns | {"accepted": None, "propensity": None}),
        policies=["kl-ucb"],
        replays=0,
        seeds=1,
        progress=False,
    )
    assert OWN_CUTOFF not in [entry.name for entry in without]
