"""Measure how much the cross-fitted best set finds, and how much hindsight claims.

.venv/bin/python benchmarks/cross_fitting.py

Portfolios of 20 categories whose means vary around the threshold with a standard
deviation of 0.05.  Accepting the good ones only gains something against accepting all.
The figures stand in docs/backtest.md.
"""

import numpy as np

CATEGORIES, PORTFOLIOS, SPREAD = 20, 4_000, 0.05


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


def main() -> None:
    for clients in (100, 400, 1_000):
        fitted, hindsight = shares(clients)
        print(f"{clients:5} clients each: cross-fitted {fitted:.0%}, hindsight {hindsight:.0%}")


if __name__ == "__main__":
    main()
