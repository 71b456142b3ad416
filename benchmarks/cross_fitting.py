"""Measure how much the cross-fitted best set finds, and how much hindsight claims.

.venv/bin/python benchmarks/cross_fitting.py

Portfolios of 20 categories whose means vary around the threshold with a standard
deviation of 0.05.  Accepting the good ones only gains something against accepting all.

Then the standard error of the cross-fitted difference: what it varies over portfolios
of the same law, and what a backtest prints for each of them.  The figures stand in
docs/backtest.md.
"""

import numpy as np
import pandas as pd

import profitable as pb
from profitable.replay.baselines import CROSS_FITTED

CATEGORIES, PORTFOLIOS, SPREAD = 20, 4_000, 0.05
ERRORS, REPLAYS = 200, 100  # portfolios, and replicates of each, for the standard error


def shares(clients: int) -> tuple[float, float]:
    """Return the gains of the cross-fitted set and of hindsight, as shares."""
    rng = np.random.default_rng(1)
    above = SPREAD * rng.standard_normal((PORTFOLIOS, CATEGORIES))
    half = clients // 2
    # Profit of each half.
    first, second = (rng.binomial(half, 0.5 + above) - 0.5 * half for _ in range(2))
    true = -2.0 * half * np.minimum(above, 0.0).sum()
    fitted = -(second * (first <= 0.0) + first * (second <= 0.0)).sum()
    return float(fitted / true), float(-np.minimum(first + second, 0.0).sum() / true)


def errors(clients: int) -> tuple[float, float, float]:
    """Return the true standard error, the printed one, and the coverage of intervals.

    All portfolios have the same means.
    """
    above = SPREAD * np.random.default_rng(7).standard_normal(CATEGORIES)
    names = np.repeat(np.arange(CATEGORIES), clients)
    found: list[tuple[float, float, float, float]] = []
    for seed in range(ERRORS):
        drawn = np.random.default_rng([2, clients, seed]).random(names.size)
        frame = pd.DataFrame({"name": names, "good": (drawn < 0.5 + above[names]).astype(int)})
        frame["round"] = 1 + np.arange(names.size) % 10
        result = pb.backtest(
            frame,
            **{"category": "name", "time": "round", "reward": "good", "cost": 0.5},
            policies="kl-ucb",
            replays=REPLAYS,
            shuffles=0,
            progress=False,
        )
        entry = result[CROSS_FITTED]
        difference = entry.difference
        found.append((difference.middle, entry.spread, difference.low, difference.high))
    middle, error, low, high = np.array(found).T
    covered = (low <= middle.mean()) & (middle.mean() <= high)
    return float(middle.std(ddof=1)), float(error.mean()), float(covered.mean())


def main() -> None:
    for clients in (100, 400, 1_000):
        fitted, hindsight = shares(clients)
        print(f"{clients:5} clients each: cross-fitted {fitted:.0%}, hindsight {hindsight:.0%}")
    for clients in (100, 400):
        true, printed, covered = errors(clients)
        print(
            f"{clients:5} clients each: standard error {true:.2f}, printed {printed:.2f} on "
            f"average; intervals cover the mean in {covered:.1%}"
        )


if __name__ == "__main__":
    main()
